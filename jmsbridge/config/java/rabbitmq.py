"""RabbitMQ's JMS client: AMQP URIs, the properties of ``RMQConnectionFactory``, and ``spring.rabbitmq.*``."""

from urllib.parse import quote, unquote

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.rules import TLS, Table, apply, differs, none, pop, to
from jmsbridge.config.java.text import flag, int_or_reference, milliseconds, split_outside, unresolved
from jmsbridge.config.java.urls import Composite, Member, address, member, put_urls
from jmsbridge.errors import ConfigurationError

__all__ = ["FACTORY", "URI", "heartbeat", "put", "read", "read_factory"]

_LISTENER = "a listener may take its time here; what it does not finish is delivered again"

URI: Table = {
    "connection_timeout": to("connect_timeout", milliseconds),
    "heartbeat": to("heartbeat", lambda text: heartbeat(int_or_reference(text))),
    "channel_max": none("agreed with the broker"),
    "auth_mechanism": to("login", lambda text: _login(text)),
    "verify": differs("verify_peer", "certificates are checked; turning that off is the option verify"),
    "cacertfile": to("ca_file"),
    "certfile": to("certificate"),
    "keyfile": to("key"),
}
"""Options behind an AMQP URI."""

FACTORY: Table = {
    "channelsQos": to("prefetch", int_or_reference),
    "onMessageTimeoutMs": none(_LISTENER),
    "terminationTimeout": to("close_timeout", milliseconds),
    "queueBrowserReadMax": differs("0", "a browser reads on as long as it is asked"),
    "preferProducerMessageProperty": differs("true", "as Jakarta Messaging says, the producer's values count"),
    "requeueOnMessageListenerException": differs("true", "a message that its listener fails on is delivered again"),
    "requeueOnTimeout": none(_LISTENER),
    "nackOnRollback": differs("false", "rolled back messages are delivered again, up to max_redeliveries"),
    "confirmListener": none("pass completion_listener to send"),
    "declareReplyToDestination": none("queues are made on first use"),
    "keepTextMessageType": none("text messages stay text messages here"),
    "cleanUpServerNamedQueuesForNonDurableTopicsOnSessionClose": none("subscriptions end with their consumer here"),
    "validateSubscriptionNames": none("names are always checked here"),
    "trustedPackages": none("Java objects are never executed here, so that there is nothing to trust"),
    "useDefaultSslContext": none(TLS),
    "hostnameVerification": differs("true", "host names are checked; turning that off is the option verify"),
    "authenticationMechanism": to("login", lambda text: _login(text)),
    "messageListenerExceptionHandling": none("set an exception_listener"),
    "sendingContextConsumer": none("a hook of the Java program"),
    "receivingContextConsumer": none("a hook of the Java program"),
    "replyToStrategy": none("set jms_reply_to"),
    "namingStrategy": none("queues and topics have the names that the program gives them"),
    "factory": none("the name of a Java class"),
    "className": none("the name of a Java class"),
    "type": none("the name of a Java class"),
    "auth": none("the container's affair"),
    "description": none("a text for people"),
    "name": none("the name of the profile says it"),
}
"""Properties of RMQConnectionFactory, beside host, port, username, password, virtualHost, ssl, uri and uris."""


def heartbeat(seconds: float | str) -> int | str:
    """Whole seconds, as the broker counts; ValueError for none at all, with which a dead link would not be noticed."""
    if isinstance(seconds, str):
        return seconds
    if seconds < 1:
        raise ValueError("without limit")
    return round(seconds)


def _login(text: str) -> str | None:
    """How to log in; a name and password need no option."""
    return "external" if text.strip().lower() == "external" else None


def put(draft: Draft, members: list[Member], tls: bool, by: str) -> None:
    """Write our URLs."""
    put_urls(draft, "rabbitmqs" if tls else "rabbitmq", members, by)


def read(draft: Draft, url: Composite, by: str) -> None:
    """Fill the draft from an AMQP URI."""
    for one in url.members:
        if one.scheme not in ("amqp", "amqps"):
            raise ConfigurationError(f"RabbitMQ's client knows amqp and amqps, not {one.scheme!r}")
    put(draft, [_vhost(one) for one in url.members], url.members[0].scheme == "amqps", by)
    for one in url.members:
        apply(draft, URI, one.options)
    apply(draft, URI, url.options)


def _vhost(one: Member, name: str | None = None) -> Member:
    """A member with its virtual host in the path, quoted once; the default one needs none."""
    name = unquote(one.path.removeprefix("/")) if name is None else name
    quoted = name if unresolved(name) else quote(name, safe="")
    return msgspec.structs.replace(one, path="" if name in ("", "/") else f"/{quoted}")


def read_factory(draft: Draft, options: dict[str, str], by: str) -> None:
    """Fill the draft from the properties of a factory; ``addresses`` are URIs or ``host:port`` texts."""
    user, password = pop(options, "username"), pop(options, "password")
    host, port, vhost = pop(options, "host"), pop(options, "port"), pop(options, "virtualHost")
    ssl = flag(pop(options, "ssl") or "false") is True
    given = [pop(options, name) for name in ("uri", "uris", "addresses")]
    texts = split_outside(next((text for text in given if text), "") or "")
    if texts:
        members = [member(text) if "://" in text else _plain(text, ssl) for text in texts]
    else:
        members = [Member("amqps" if ssl else "amqp", host or "localhost", port, "", None, None, {})]
    members = [_vhost(one, vhost if vhost is not None and not one.path else None) for one in members]
    put(draft, members, members[0].scheme == "amqps", by)
    for one in members:
        apply(draft, URI, one.options)
    draft.user(user or "")
    draft.password(password or "", "password")
    apply(draft, FACTORY, options)


def _plain(text: str, tls: bool) -> Member:
    info, _, where = text.rpartition("@")
    where, slash, vhost = where.partition("/")
    user, _, password = info.partition(":")
    host, port = address(where)
    return Member("amqps" if tls else "amqp", host, port, slash + vhost, user or None, password or None, {})
