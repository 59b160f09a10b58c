"""ActiveMQ Classic: ``tcp://``, ``nio://``, ``ssl://``, ``failover:(…)`` with ``jms.*`` options."""

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.rules import (
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
from jmsbridge.config.java.text import flag, int_or_reference, milliseconds, not_flag
from jmsbridge.config.java.urls import Composite, Member, merged_options, put_urls
from jmsbridge.errors import ConfigurationError

__all__ = ["FACTORY", "RECONNECT", "REDELIVERY", "TABLE", "read", "settle"]

_PLAIN = ("tcp", "nio", "auto", "auto+nio")
_TLS = ("ssl", "nio+ssl", "auto+ssl", "auto+nio+ssl")
_PORTS = {"amqp": "5672", "amqps": "5671", "stomp": "61613", "stomp+ssl": "61612"}
_OPENWIRE = "OpenWire's own affair"
_INSIDE = "the Java client's inner workings"

REDELIVERY = Backoff(
    "redelivery_delay",
    ("jms.redeliveryPolicy.redeliveryDelay", "jms.redeliveryPolicy.initialRedeliveryDelay"),
    "jms.redeliveryPolicy.maximumRedeliveryDelay",
    growing="jms.redeliveryPolicy.useExponentialBackOff",
    multiplier="jms.redeliveryPolicy.backOffMultiplier",
    grows=False,
)
RECONNECT = Backoff(
    "reconnect_delay",
    ("initialReconnectDelay", "reconnectDelay"),
    "maxReconnectDelay",
    growing="useExponentialBackOff",
    multiplier="backOffMultiplier",
)

FACTORY: Table = {
    "jms.userName": to("user"),
    "jms.password": to("password"),
    "jms.clientID": to("client_id"),
    "jms.sendTimeout": to("send_timeout", lambda text: None if text.strip() == "0" else milliseconds(text)),
    "jms.closeTimeout": to("close_timeout", milliseconds),
    "jms.connectResponseTimeout": to("connect_timeout", lambda t: None if t.strip() == "0" else milliseconds(t)),
    "jms.useAsyncSend": to("block_on_durable_send", not_flag, "send returns unconfirmed where this is off"),
    "jms.alwaysSyncSend": to("block_on_non_durable_send", flag),
    "jms.sendAcksAsync": to("block_on_acknowledge", not_flag),
    "jms.producerWindowSize": to(
        "confirmation_window_size", lambda text: None if text.strip() == "0" else int_or_reference(text)
    ),
    "jms.redeliveryPolicy.maximumRedeliveries": to("max_redeliveries", int_or_reference),
    "jms.redeliveryPolicy.*": none("one redelivery policy holds for all destinations, with jitter"),
    "jms.prefetchPolicy.*": none("browsers and advisory consumers use prefetch as consumers do"),
    "jms.clientIDPrefix": none("give client_id in full"),
    "jms.connectionIDPrefix": none("connections are numbered here"),
    "jms.optimizeAcknowledge": differs("false", "use DUPS_OK_ACKNOWLEDGE sessions with dups_ok_messages"),
    "jms.optimizeAcknowledgeTimeOut": none("use DUPS_OK_ACKNOWLEDGE sessions with dups_ok_interval"),
    "jms.optimizedAckScheduledAckInterval": none("use DUPS_OK_ACKNOWLEDGE sessions with dups_ok_interval"),
    "jms.useCompression": differs("false", "bodies are not compressed, so that any reader understands them"),
    "jms.copyMessageOnSend": differs("true", "a message is always taken as it is at the moment of sending"),
    "jms.dispatchAsync": differs("true", "the broker's choice here"),
    "jms.disableTimeStampsByDefault": differs("false", "producers have disable_message_timestamp"),
    "jms.exclusiveConsumer": differs("false", "an option of the broker's queue"),
    "jms.useRetroactiveConsumer": differs("false", "an option of the broker's topic"),
    "jms.watchTopicAdvisories": none("advisories are not needed here"),
    "jms.messagePrioritySupported": differs("true", "arrived messages are always ordered by priority here"),
    "jms.nonBlockingRedelivery": differs("false", "redelivery keeps the order here"),
    "jms.checkForDuplicates": differs("true", _INSIDE),
    "jms.nestedMapAndListEnabled": none("map messages hold what Jakarta Messaging allows; nest in an object message"),
    "jms.trustedPackages": none("Java objects are never executed here, so that there is nothing to trust"),
    "jms.trustAllPackages": none("Java objects are never executed here, so that there is nothing to trust"),
    "jms.warnAboutUnstartedConnectionTimeout": none("not warned about here"),
    "jms.blobTransferPolicy.*": none("there are no blob messages here"),
    "jms.*": none(_INSIDE),
}

TABLE: Table = {
    **FACTORY,
    "maxReconnectAttempts": to("reconnect_attempts", lambda t: None if t.strip() == "-1" else int_or_reference(t)),
    "timeout": to("send_timeout", lambda text: None if text.strip() == "-1" else milliseconds(text)),
    "randomize": differs("false", "the URLs are tried in the order in which they stand"),
    "startupMaxReconnectAttempts": none("the first connect tries each URL once"),
    "warnAfterReconnectAttempts": none("every failed try is logged"),
    "backup": differs("false", "there are no connections kept in reserve"),
    "backupPoolSize": none("there are no connections kept in reserve"),
    "priorityBackup": differs("false", "a connection stays where it is until it is lost"),
    "priorityURIs": none("a connection stays where it is until it is lost"),
    "trackMessages": differs("false", "see the option resend"),
    "trackTransactionProducers": none("see the option resend"),
    "maxCacheSize": none("see the option resend"),
    "maxPullCacheSize": none(_INSIDE),
    "updateURIsSupported": differs("false", "only the brokers of the list are known here"),
    "updateURIsURL": none("only the brokers of the list are known here"),
    "rebalanceUpdateURIs": none("only the brokers of the list are known here"),
    "useExponentialBackOff": none(_INSIDE),
    "connectionTimeout": to("connect_timeout", milliseconds),
    "connectionInterruptProcessingComplete": none(_INSIDE),
    "wireFormat.maxInactivityDuration*": none("heart-beats are an option of the backend, where it has one"),
    "wireFormat.*": none(_OPENWIRE),
    "wireformat.*": none(_OPENWIRE),
    "socket.verifyHostName": differs("true", "host names are checked; turning that off is an option of the backend"),
    "verifyHostName": differs("true", "host names are checked; turning that off is an option of the backend"),
    "socket.enabled*": none("the TLS library chooses"),
    "socket.*": none("the backend's own affair"),
    "trustStore*": none(TLS),
    "keyStore*": none(TLS),
    "tcpNoDelay*": differs("true", "the backend's own affair"),
    "keepAlive": none("the backend's own affair"),
    "soTimeout": none("the backend's own affair"),
    "soWriteTimeout": none("the backend's own affair"),
    "soLinger": none("the backend's own affair"),
    "ioBufferSize": none("the backend's own affair"),
    "socketBufferSize": none("the backend's own affair"),
    "useLocalHost": none("the backend's own affair"),
    "trace": differs("false", "use the standard library's logging, loggers jmsbridge.*"),
    "daemon": none("all threads are daemons here"),
    "minmumWireFormatVersion": none(_OPENWIRE),
}


def read(draft: Draft, url: Composite, by: str, prefer: str = "amqp") -> None:
    """Fill the draft from a broker URL, for the protocol that is preferred (``amqp`` or ``stomp``)."""
    if url.scheme in ("discovery", "fanout"):
        raise ConfigurationError(f"{url.scheme}: has no equivalent, since brokers are not discovered: list them")
    first = url.members[0]
    if first.scheme == "vm":
        _in_process(draft, first, by)
        return
    _put(draft, url.members, by, prefer)
    settle(draft, merged_options(draft, url, "nested."))


def settle(draft: Draft, options: dict[str, str]) -> None:
    """Take over the options of a URL or of a factory."""
    take_first(draft, options, PREFETCH)
    apply_backoff(draft, options, REDELIVERY)
    apply_backoff(draft, options, RECONNECT)
    apply(draft, TABLE, options)


def _in_process(draft: Draft, one: Member, by: str) -> None:
    name = one.host if one.host not in ("", "localhost") else ""
    draft.urls.append(f"embedded:?broker={name}" if name else "embedded:")
    draft.note(by, "changed", "the broker inside the Java process becomes the one inside the Python process")
    for option in one.options:
        draft.drop(option, "the embedded broker is made on first use, with its own options")


def _put(draft: Draft, members: list[Member], by: str, prefer: str) -> None:
    tls = {one.scheme in _TLS for one in members}
    for one in members:
        if one.scheme not in _PLAIN + _TLS:
            raise ConfigurationError(
                f"ActiveMQ's transport {one.scheme!r} has no equivalent; tcp, nio, ssl and auto have"
            )
    if len(tls) > 1:
        raise ConfigurationError("a failover list has either plain or TLS transports here, not both")
    scheme = {"amqp": "amqps", "stomp": "stomp+ssl"}[prefer] if tls == {True} else prefer
    moved = []
    for one in members:
        automatic = one.scheme.startswith("auto")
        if not automatic:
            port = one.port or ("61617" if tls == {True} else "61616")
            draft.note(
                by,
                "changed",
                f"OpenWire at {one.host}:{port} became {prefer.upper()} at its usual port {_PORTS[scheme]}: the broker "
                f"needs a transport connector for it there",
            )
        ours = one.port if automatic else _PORTS[scheme]
        moved.append(msgspec.structs.replace(one, port=ours, path=""))
    put_urls(draft, scheme, moved, by)
