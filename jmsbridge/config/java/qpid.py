"""Qpid JMS: ``amqp://…?jms.*&amqp.*&transport.*`` and ``failover:(…)?failover.*``."""

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.rules import (
    ENDLESS,
    PREFETCH,
    TLS,
    Backoff,
    Table,
    apply,
    apply_backoff,
    differs,
    none,
    take_first,
    to,
)
from jmsbridge.config.java.text import flag, int_or_reference, milliseconds
from jmsbridge.config.java.urls import Composite, merged_options, put_urls
from jmsbridge.errors import ConfigurationError

__all__ = ["RECONNECT", "TABLE", "read", "settle"]

_SCHEMES = {"amqp": "amqp", "amqps": "amqps"}
_WIRE = "the AMQP library's own affair here"
_SECURITY = "Java objects are never executed here, so that there is nothing to allow or deny"

RECONNECT = Backoff(
    "reconnect_delay",
    ("failover.reconnectDelay", "failover.initialReconnectDelay"),
    "failover.maxReconnectDelay",
    growing="failover.useReconnectBackOff",
    multiplier="failover.reconnectBackOffMultiplier",
)

TABLE: Table = {
    "jms.username": to("user"),
    "jms.password": to("password"),
    "jms.clientID": to("client_id"),
    "jms.connectTimeout": to("connect_timeout", milliseconds),
    "jms.sendTimeout": to("send_timeout", milliseconds),
    "jms.closeTimeout": to("close_timeout", milliseconds),
    "jms.requestTimeout": none("requests share connect_timeout here"),
    "jms.forceSyncSend": to("block_on_non_durable_send", flag),
    "jms.forceAsyncSend": to(
        "block_on_durable_send", lambda text: False if flag(text) is True else None, "send returns unconfirmed"
    ),
    "jms.forceAsyncAcks": to("block_on_acknowledge", lambda text: False if flag(text) is True else None),
    "jms.redeliveryPolicy.maxRedeliveries": to("max_redeliveries", int_or_reference),
    "jms.redeliveryPolicy.outcome": differs(
        "rejected", "after the last redelivery a message is rejected here, for the broker's dead-letter queue"
    ),
    "jms.prefetchPolicy.queueBrowserPrefetch": none("browsers use prefetch as consumers do"),
    "jms.prefetchPolicy.maxPrefetchSize": none("prefetch has no upper limit here"),
    "jms.presettlePolicy.*": none("use NO_ACKNOWLEDGE sessions, and block_on_…_send for producers"),
    "jms.deserializationPolicy.*": none(_SECURITY),
    "jms.messageIDPolicy.*": none("message ids have one form here"),
    "jms.clientIDPrefix": none("give client_id in full"),
    "jms.connectionIDPrefix": none("connections are numbered here"),
    "jms.awaitClientID": none("a client id that is set late opens a new link here"),
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
    "jms.closeLinksThatFailOnReconnect": none("a consumer that cannot be made again is closed with an error here"),
    "amqp.vhost": none("an option of the amqp backend, where it has one; the host name counts otherwise"),
    "amqp.idleTimeout": none("an option of the amqp backend, where it has one"),
    "amqp.saslMechanisms": none("chosen from what the broker offers"),
    "amqp.saslLayer": differs("true", "SASL is always used here"),
    "amqp.*": none(_WIRE),
    "sasl.options.*": none("GSSAPI is not offered"),
    "transport.connectTimeout": to("connect_timeout", milliseconds),
    "transport.tcpNoDelay": differs("true", _WIRE),
    "transport.verifyHost": differs("true", "host names are checked; turning that off is an option of the backend"),
    "transport.trustAll": differs("false", "certificates are checked; turning that off is an option of the backend"),
    "transport.keyStore*": none(TLS),
    "transport.trustStore*": none(TLS),
    "transport.storeType": none(TLS),
    "transport.keyAlias": none(TLS),
    "transport.contextProtocol": none("the TLS library chooses"),
    "transport.enabled*": none("the TLS library chooses"),
    "transport.disabled*": none("the TLS library chooses"),
    "transport.ws.*": none("there are no web sockets here"),
    "transport.*": none(_WIRE),
    "failover.maxReconnectAttempts": to(
        "reconnect_attempts", lambda t: None if t.strip() == "-1" else int_or_reference(t)
    ),
    "failover.startupMaxReconnectAttempts": none("the first connect tries each URL once"),
    "failover.randomize": differs("false", "the URLs are tried in the order in which they stand"),
    "failover.amqpOpenServerListAction": differs("ignore", "only the brokers of the list are known here"),
    "failover.warnAfterReconnectAttempts": none("every failed try is logged"),
    "failover.*": none(ENDLESS),
    "discovery.*": none("brokers are not discovered: list them"),
}


def read(draft: Draft, url: Composite, by: str) -> None:
    """Fill the draft from a URL."""
    if url.scheme == "discovery":
        raise ConfigurationError("discovery: has no equivalent, since brokers are not discovered: list them")
    for one in url.members:
        if one.scheme not in _SCHEMES:
            raise ConfigurationError(f"Qpid JMS' transport {one.scheme!r} has no equivalent; amqp and amqps have")
    tls = url.members[0].scheme == "amqps"
    if len({one.scheme for one in url.members}) > 1:
        raise ConfigurationError("a failover list has either amqp or amqps URLs here, not both")
    members = [msgspec.structs.replace(one, path="") for one in url.members]
    put_urls(draft, "amqps" if tls else "amqp", members, by)
    settle(draft, merged_options(draft, url, "failover.nested."))


def settle(draft: Draft, options: dict[str, str]) -> None:
    """Take over the options of a URL or of a factory."""
    take_first(draft, options, PREFETCH)
    apply_backoff(draft, options, RECONNECT)
    apply(draft, TABLE, options)
