"""ActiveMQ Classic: ``tcp://``, ``nio://``, ``ssl://``, ``failover:(…)`` with ``jms.*`` options."""

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.pauses import (
    Reconnect,
    apply_reconnect,
    duration,
    factor,
    put_redelivery,
    reconnect_rules,
    truth,
)
from jmsbridge.config.java.rules import PREFETCH, TLS, Table, alike, apply, differs, none, pop, said, take_prefetch, to
from jmsbridge.config.java.text import attempts, count, deadline, flag, limit, milliseconds, not_flag
from jmsbridge.config.java.urls import Composite, Member, merged_options, put_urls
from jmsbridge.config.masking import shown_scheme
from jmsbridge.errors import ConfigurationError

__all__ = ["FIRST", "TABLE", "read", "settle"]

_PLAIN = ("tcp", "nio", "auto", "auto+nio")
_TLS = ("ssl", "nio+ssl", "auto+ssl", "auto+nio+ssl")
_PORTS = {"amqp": "5672", "amqps": "5671", "stomp": "61613", "stomp+ssl": "61612"}
_OPENWIRE = "specific to OpenWire"
_INSIDE = "an internal setting of the Java client"
_SOCKET = "handled by the backend"
_JITTER = "pauses are not randomised here"
_VERIFIED = "host names are checked; an option of the backend turns that off"
_IN_ORDER = "the URLs are tried in the order given"
_NOT_EXECUTED = "Java objects are never executed here, so there is nothing to trust"

_POLICY = "jms.redeliveryPolicy."
_FIRST, _DELAY, _LONGEST = (
    f"{_POLICY}{name}" for name in ("initialRedeliveryDelay", "redeliveryDelay", "maximumRedeliveryDelay")
)
_GROWING, _MULTIPLIER = f"{_POLICY}useExponentialBackOff", f"{_POLICY}backOffMultiplier"
_JAVA_DELAY, _JAVA_MULTIPLIER = 1, 5.0  # the Java client's defaults for a pause and a multiplier

_REDELIVERY: Table = {
    _FIRST: to("redelivery_delay_first"),
    _DELAY: to("redelivery_delay"),
    _LONGEST: to("redelivery_delay_max", differs="without useExponentialBackOff it has no effect, as in Java"),
    _GROWING: to("redelivery_factor", differs="off: 1"),
    _MULTIPLIER: to("redelivery_factor", differs="without useExponentialBackOff it has no effect, as in Java"),
}
_RECONNECT = Reconnect(
    "initialReconnectDelay",
    "maxReconnectDelay",
    initial="reconnectDelay",
    growing="useExponentialBackOff",
    multiplier="backOffMultiplier",
)
FIRST: Table = {**PREFETCH, **_REDELIVERY, **reconnect_rules(_RECONNECT)}
"""Options that depend on each other, read before the others."""

TABLE: Table = {
    "jms.userName": to("user"),
    "jms.password": to("password"),
    "jms.clientID": to("client_id"),
    "jms.sendTimeout": to("send_timeout", deadline),
    "jms.closeTimeout": to("close_timeout", milliseconds),
    "jms.connectResponseTimeout": to("connect_timeout", deadline),
    "jms.alwaysSyncSend": to("block_on_non_durable_send", flag),
    "jms.useAsyncSend": to("block_on_durable_send", not_flag, "if it is off, send returns unconfirmed"),
    "jms.sendAcksAsync": to("block_on_acknowledge", not_flag),
    "jms.producerWindowSize": to("confirmation_window_size", lambda text: None if text.strip() == "0" else count(text)),
    f"{_POLICY}maximumRedeliveries": to("max_redeliveries", limit),
    f"{_POLICY}useCollisionAvoidance": differs("false", _JITTER),
    f"{_POLICY}collisionAvoidancePercent": none(_JITTER),
    f"{_POLICY}preDispatchCheck": differs("true", "a message beyond the limit is never delivered here"),
    **alike("queue topic tempQueue tempTopic destination", none("write the table redelivery.NAME"), _POLICY),
    "jms.prefetchPolicy.queueBrowserPrefetch": none("browsers use prefetch, like consumers"),
    "jms.prefetchPolicy.optimizeDurableTopicPrefetch": none("durable subscriptions use prefetch, like others"),
    "jms.prefetchPolicy.inputStreamPrefetch": none("there are no input streams here"),
    "jms.prefetchPolicy.maximumPendingMessageLimit": none(
        "the broker keeps messages that a slow consumer has not taken"
    ),
    "jms.clientIDPrefix": none("give client_id in full"),
    "jms.connectionIDPrefix": none("connections are numbered here"),
    "jms.optimizeAcknowledge": differs("false", "use DUPS_OK_ACKNOWLEDGE sessions with dups_ok_messages"),
    **alike(
        "optimizeAcknowledgeTimeOut optimizedAckScheduledAckInterval",
        none("use DUPS_OK_ACKNOWLEDGE sessions with dups_ok_interval"),
        "jms.",
    ),
    "jms.useCompression": differs("false", "bodies are not compressed, so that every reader understands them"),
    "jms.copyMessageOnSend": differs("true", "a message is always copied when it is sent"),
    "jms.dispatchAsync": differs("true", "chosen by the broker here"),
    "jms.disableTimeStampsByDefault": differs("false", "producers have disable_message_timestamp"),
    "jms.exclusiveConsumer": differs("false", "an option of the broker's queue"),
    "jms.useRetroactiveConsumer": differs("false", "an option of the broker's topic"),
    "jms.watchTopicAdvisories": none("advisories are not needed here"),
    "jms.messagePrioritySupported": differs("true", "arrived messages are always ordered by priority here"),
    "jms.nonBlockingRedelivery": differs("false", "redelivery keeps the order here"),
    "jms.consumerExpiryCheckEnabled": differs("true", "expired messages are never delivered here"),
    "jms.transactedIndividualAck": differs("false", "what a transaction consumed is acknowledged at its commit"),
    "jms.consumerFailoverRedeliveryWaitPeriod": none("unacknowledged messages are redelivered as soon as possible"),
    "jms.nestedMapAndListEnabled": none("map messages hold what Jakarta Messaging allows; nest in an object message"),
    **alike("trustedPackages trustAllPackages", none(_NOT_EXECUTED), "jms."),
    "jms.warnAboutUnstartedConnectionTimeout": none("there is no such warning here"),
    "jms.blobTransferPolicy.*": none("there are no blob messages here"),
    **alike("xaAckMode rmIdFromConnectionId", none("XA is not offered"), "jms."),
    **alike("trustStore trustStorePassword trustStoreType keyStore keyStorePassword", none(TLS), "jms."),
    **alike("keyStoreType keyStoreKeyPassword", none(TLS), "jms."),
    **alike(
        "alwaysSessionAsync auditDepth auditMaximumProducerNumber checkForDuplicates maxThreadPoolSize "
        "objectMessageSerializationDefered optimizedMessageDispatch useBeanNameAsClientIdPrefix "
        "useDedicatedTaskRunner useEmbeddedBroker",
        none(_INSIDE),
        "jms.",
    ),
    "maxReconnectAttempts": to("reconnect_attempts", attempts),
    "timeout": to("send_timeout", milliseconds, "limits the whole of a send here, not only its wait for a connection"),
    "randomize": differs("false", _IN_ORDER),
    "startupMaxReconnectAttempts": none("the first connect tries each URL once"),
    "warnAfterReconnectAttempts": none("every failed attempt is logged"),
    "backup": differs("false", "no reserve connections are kept"),
    "backupPoolSize": none("no reserve connections are kept"),
    "priorityBackup": differs("false", "a connection stays with its broker until it is lost"),
    "priorityURIs": none("a connection stays with its broker until it is lost"),
    "trackMessages": differs("false", "see the option resend"),
    **alike("trackTransactionProducers maxCacheSize", none("see the option resend")),
    "maxPullCacheSize": none(_INSIDE),
    "updateURIsSupported": differs("false", "only the brokers of the list are used here"),
    **alike("updateURIsURL rebalanceUpdateURIs", none("only the brokers of the list are used here")),
    "connectionTimeout": to("connect_timeout", deadline),
    "wireFormat.maxInactivityDuration": none("heart-beats are an option of the backend, where it has one"),
    "wireFormat.maxInactivityDurationInitalDelay": none("heart-beats are an option of the backend, where it has one"),
    **alike(
        "cacheEnabled cacheSize host maxFrameSize maxFrameSizeEnabled prefixPacketSize sizePrefixDisabled "
        "stackTraceEnabled tcpNoDelayEnabled tightEncodingEnabled version",
        none(_OPENWIRE),
        "wireFormat.",
    ),
    **alike("socket.verifyHostName verifyHostName", differs("true", _VERIFIED)),
    **alike("enabledProtocols enabledCipherSuites", none("chosen by the TLS library"), "socket."),
    **alike(
        "needClientAuth wantClientAuth", none("the broker decides whether to request a client certificate"), "socket."
    ),
    "socket.tcpNoDelay": differs("true", _SOCKET),
    **alike(
        "keepAlive OOBInline receiveBufferSize reuseAddress sendBufferSize soLinger soTimeout trafficClass",
        none(_SOCKET),
        "socket.",
    ),
    "tcpNoDelay": differs("true", _SOCKET),
    **alike(
        "diffServ ioBufferSize keepAlive localAddress localPort socketBufferSize soLinger soTimeout soWriteTimeout "
        "stackSize typeOfService useInactivityMonitor useKeepAlive useLocalHost",
        none(_SOCKET),
    ),
    "trace": differs("false", "use the standard library's logging, loggers jmsbridge.*"),
    **alike("dynamicManagement jmxPort logWriterName startLogging", none("use the standard library's logging")),
    "daemon": none("all threads are daemons here"),
    **alike("minmumWireFormatVersion wireFormat", none(_OPENWIRE)),
}


def read(draft: Draft, url: Composite, by: str, prefer: str = "amqp") -> None:
    """Fill the draft from a broker URL, for the preferred protocol (``amqp`` or ``stomp``)."""
    if url.scheme in ("discovery", "fanout"):
        raise ConfigurationError(
            f"the scheme {shown_scheme(url.scheme)} has no equivalent, since brokers are not discovered: list them"
        )
    first = url.members[0]
    if first.scheme == "vm":
        _in_process(draft, first, by)
        return
    _put(draft, url.members, by, prefer)
    options = merged_options(draft, url, "nested.")
    if len(url.members) > 1 and "randomize" not in {name.lower() for name in options}:
        draft.note(by, "changed", f"{_IN_ORDER}; the Java client chooses them at random")
    settle(draft, options)


def settle(draft: Draft, options: dict[str, str]) -> None:
    """Apply the options of a URL or of a factory."""
    take_prefetch(draft, options)
    _redelivery(draft, options)
    apply_reconnect(draft, options, _RECONNECT)
    if said(options, "jms.alwaysSyncSend") and said(options, "jms.useAsyncSend"):
        pop(options, "jms.useAsyncSend")  # in Java the other option wins
        draft.set("block_on_durable_send", True, "jms.alwaysSyncSend")
    apply(draft, TABLE, options, FIRST)


def _redelivery(draft: Draft, options: dict[str, str]) -> None:
    """The Java client's pauses: an exponential one is a multiple of the previous one, even of the first."""
    given = {name.lower() for name in options} & {name.lower() for name in _REDELIVERY}
    if not given:
        return
    first, delay = (duration(draft, options, name, _JAVA_DELAY) for name in (_FIRST, _DELAY))
    grows = truth(draft, options, _GROWING, False)
    if not grows:
        for name in (_LONGEST, _MULTIPLIER):
            if pop(options, name) is not None:
                draft.drop(name, "without useExponentialBackOff it has no effect, as in Java")
    multiplier = factor(draft, options, _MULTIPLIER, _JAVA_MULTIPLIER) if grows else 1
    text = pop(options, _LONGEST)
    longest = None if text is None or text.strip() == "-1" else duration(draft, {_LONGEST: text}, _LONGEST)
    assert first is not None
    assert delay is not None
    if multiplier <= 1:
        put_redelivery(draft, _POLICY + "*", first=first, delay=delay)
    elif isinstance(first, str) or isinstance(delay, str) or isinstance(longest, str):
        reason = "the second pause is redelivery_delay here, but in Java the first one times the multiplier"
        draft.note(_MULTIPLIER, "changed", reason)
        put_redelivery(draft, _POLICY + "*", first=first, delay=delay, factor=multiplier, longest=longest)
    else:
        most = None if longest is None else max(longest, delay)
        second = delay if first == 0 else first * multiplier
        if most is not None and longest is not None and second > longest and first > 0:
            second = most
        put_redelivery(draft, _POLICY + "*", first=first, delay=second, factor=multiplier, longest=most)


def _in_process(draft: Draft, one: Member, by: str) -> None:
    name = one.host if one.host not in ("", "localhost") else ""
    draft.urls.append(f"embedded:?broker={name}" if name else "embedded:")
    draft.note(by, "changed", "the broker embedded in the Java process becomes one embedded in the Python process")
    for option in one.options:
        draft.drop(option, "the embedded broker is created on first use, with its own options")


def _put(draft: Draft, members: list[Member], by: str, prefer: str) -> None:
    tls = {one.scheme in _TLS for one in members}
    for one in members:
        if one.scheme not in _PLAIN + _TLS:
            raise ConfigurationError(
                f"ActiveMQ's transport {shown_scheme(one.scheme)} has no equivalent; use tcp, nio, ssl or auto"
            )
    if len(tls) > 1:
        raise ConfigurationError("a failover list cannot mix plain and TLS transports here")
    scheme = {"amqp": "amqps", "stomp": "stomp+ssl"}[prefer] if tls == {True} else prefer
    moved = []
    for one in members:
        automatic = one.scheme.startswith("auto")
        if not automatic:
            port = one.port or ("61617" if tls == {True} else "61616")
            draft.note(
                by,
                "changed",
                f"OpenWire at {one.host}:{port} became {prefer.upper()} at its default port {_PORTS[scheme]}: the "
                f"broker needs a transport connector for it there",
            )
        ours = one.port if automatic else _PORTS[scheme]
        moved.append(msgspec.structs.replace(one, port=ours, path=""))
    put_urls(draft, scheme, moved, by)
