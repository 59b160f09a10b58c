"""Qpid JMS: ``amqp://…?jms.*&amqp.*&transport.*`` and ``failover:(…)?failover.*``."""

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.pauses import Reconnect, apply_reconnect, reconnect_rules
from jmsbridge.config.java.rules import PREFETCH, TLS, Table, alike, apply, differs, none, pop, said, take_prefetch, to
from jmsbridge.config.java.text import attempts, deadline, flag, limit, milliseconds
from jmsbridge.config.java.urls import Composite, merged_options, put_urls
from jmsbridge.config.masking import shown_scheme
from jmsbridge.errors import ConfigurationError

__all__ = ["FIRST", "TABLE", "read", "settle"]

_SCHEMES = {"amqp": "amqp", "amqps": "amqps"}
_WIRE = "handled by the AMQP library here"
_SECURITY = "Java objects are never executed here, so there is nothing to allow or deny"
_TLS_LIBRARY = "chosen by the TLS library"

_RECONNECT = Reconnect(
    "failover.reconnectDelay",
    "failover.maxReconnectDelay",
    initial="failover.initialReconnectDelay",
    growing="failover.useReconnectBackOff",
    multiplier="failover.reconnectBackOffMultiplier",
)
FIRST: Table = {**PREFETCH, **reconnect_rules(_RECONNECT)}
"""Options that depend on each other, read before the others."""


def _off(text: str) -> bool | str | None:
    """False for an option that is on, None (not set) for one that is off."""
    return False if flag(text) is True else None


TABLE: Table = {
    "jms.username": to("user"),
    "jms.password": to("password"),
    "jms.clientID": to("client_id"),
    "jms.connectTimeout": to("connect_timeout", deadline),
    "jms.sendTimeout": to("send_timeout", milliseconds),
    "jms.closeTimeout": to("close_timeout", milliseconds),
    "jms.requestTimeout": none("requests use connect_timeout here"),
    "jms.forceSyncSend": to("block_on_non_durable_send", flag),
    "jms.forceAsyncSend": to("block_on_durable_send", _off, "send returns unconfirmed"),
    "jms.forceAsyncAcks": to("block_on_acknowledge", _off),
    "jms.redeliveryPolicy.maxRedeliveries": to("max_redeliveries", limit),
    "jms.redeliveryPolicy.outcome": differs(
        "rejected", "after the last redelivery a message is rejected here, for the broker's dead-letter queue", "2"
    ),
    "jms.prefetchPolicy.queueBrowserPrefetch": none("browsers use prefetch, like consumers"),
    "jms.prefetchPolicy.maxPrefetchSize": none("prefetch has no upper limit here"),
    **alike(
        "presettleAll presettleConsumers presettleTopicConsumers presettleQueueConsumers",
        differs("false", "use NO_ACKNOWLEDGE sessions"),
        "jms.presettlePolicy.",
    ),
    **alike(
        "presettleProducers presettleTopicProducers presettleQueueProducers presettleTransactedProducers",
        differs("false", "block_on_durable_send and block_on_non_durable_send say what a send waits for"),
        "jms.presettlePolicy.",
    ),
    **alike("allowList denyList whiteList blackList", none(_SECURITY), "jms.deserializationPolicy."),
    "jms.messageIDPolicy.messageIDType": differs("default", "message ids have one form here"),
    "jms.clientIDPrefix": none("give client_id in full"),
    "jms.connectionIDPrefix": none("connections are numbered here"),
    "jms.awaitClientID": none("a client id that is set later opens a new link here"),
    "jms.localMessageExpiry": differs("true", "expired messages are never delivered here"),
    "jms.localMessagePriority": differs("true", "arrived messages are always ordered by priority here"),
    "jms.validatePropertyNames": differs("true", "names are always checked here"),
    "jms.validateSelector": differs("true", "selectors are always checked here"),
    "jms.receiveLocalOnly": differs("false", "a receive that finds nothing asks the broker here"),
    "jms.receiveNoWaitLocalOnly": differs("false", "a receive that finds nothing asks the broker here"),
    "jms.queuePrefix": none("write the names of queues in full"),
    "jms.topicPrefix": none("write the names of topics in full"),
    "jms.populateJMSXUserID": differs("false", "no JMSXUserID is set here"),
    "jms.useDaemonThread": differs("true", "all threads are daemons here"),
    "jms.tracing": none("tracing is set up in the program"),
    "jms.closeLinksThatFailOnReconnect": differs("true", "a consumer that cannot be restored is closed here"),
    "amqp.vhost": none("set the option virtual_host; without it the host name is used"),
    "amqp.idleTimeout": none("set the option heartbeat, in seconds"),
    "amqp.saslMechanisms": none("the option login chooses the mechanism"),
    "amqp.saslLayer": differs("true", "SASL is always used here"),
    "amqp.allowNonSecureRedirects": differs("false", "a redirect keeps the scheme of the URL here"),
    **alike(
        "maxFrameSize channelMax drainTimeout anonymousFallbackCacheSize anonymousFallbackCacheTimeout "
        "maxWriteBytesBeforeFlush sessionOutgoingWindow traceFrames traceBytes traceFramesPayloadLimit",
        none(_WIRE),
        "amqp.",
    ),
    "sasl.options.*": none("GSSAPI is not offered"),
    "transport.connectTimeout": to("connect_timeout", deadline),
    "transport.tcpNoDelay": differs("true", _WIRE),
    "transport.verifyHost": differs("true", "host names are checked; an option of the backend turns that off"),
    "transport.trustAll": differs("false", "certificates are checked; an option of the backend turns that off"),
    **alike("keyStoreLocation keyStorePassword keyStoreType keyAlias storeType", none(TLS), "transport."),
    **alike("trustStoreLocation trustStorePassword trustStoreType sslContextOverride", none(TLS), "transport."),
    **alike("contextProtocol enabledProtocols disabledProtocols", none(_TLS_LIBRARY), "transport."),
    **alike("enabledCipherSuites disabledCipherSuites useOpenSSL", none(_TLS_LIBRARY), "transport."),
    "transport.ws.*": none("web sockets are not supported"),
    **alike(
        "sendBufferSize receiveBufferSize soTimeout soLinger trafficClass tcpKeepAlive useEpoll useKQueue "
        "sharedEventLoopThreads localAddress localPort traceBytes",
        none(_WIRE),
        "transport.",
    ),
    **alike("defaultTcpPort defaultSslPort", none("write the port into the URL"), "transport."),
    "failover.maxReconnectAttempts": to("reconnect_attempts", attempts),
    "failover.startupMaxReconnectAttempts": none("the first connect tries each URL once"),
    "failover.randomize": differs("false", "the URLs are tried in the order given"),
    "failover.amqpOpenServerListAction": differs("ignore", "only the brokers of the list are used here"),
    "failover.warnAfterReconnectAttempts": none("every failed attempt is logged"),
    "failover.requestTimeout": none("requests use connect_timeout here"),
    "discovery.*": none("brokers are not discovered: list them"),
}


def read(draft: Draft, url: Composite, by: str) -> None:
    """Fill the draft from a URL."""
    if url.scheme == "discovery":
        raise ConfigurationError("discovery: has no equivalent, since brokers are not discovered: list them")
    for one in url.members:
        if one.scheme not in _SCHEMES:
            raise ConfigurationError(
                f"Qpid JMS' transport {shown_scheme(one.scheme)} has no equivalent; use amqp or amqps"
            )
    tls = url.members[0].scheme == "amqps"
    if len({one.scheme for one in url.members}) > 1:
        raise ConfigurationError("a failover list cannot mix amqp and amqps URLs here")
    members = [msgspec.structs.replace(one, path="") for one in url.members]
    put_urls(draft, "amqps" if tls else "amqp", members, by)
    settle(draft, merged_options(draft, url, "failover.nested."))


def settle(draft: Draft, options: dict[str, str]) -> None:
    """Apply the options of a URL or of a factory."""
    take_prefetch(draft, options)
    apply_reconnect(draft, options, _RECONNECT)
    if said(options, "jms.forceSyncSend"):
        pop(options, "jms.forceAsyncSend")  # in Java the other option wins
    apply(draft, TABLE, options, FIRST)
