"""RabbitMQ's JMS client: AMQP URIs, the properties of ``RMQConnectionFactory``, and ``spring.rabbitmq.*``."""

from urllib.parse import quote, unquote

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.rules import TLS, Table, alike, apply, differs, none, pop, to
from jmsbridge.config.java.text import Unlike, count, deadline, flag, milliseconds, split_outside, unresolved
from jmsbridge.config.java.urls import Composite, Member, address, member, put_urls
from jmsbridge.config.masking import shown_scheme
from jmsbridge.errors import ConfigurationError

__all__ = ["ADDRESS", "FACTORY", "URI", "VERIFIED", "heartbeat", "put", "read", "read_factory"]

_LISTENER = "listeners have no time limit here; a message that one does not finish is delivered again"
_HOOK = "a hook of the Java program"
_CLASS = "the name of a Java class"
VERIFIED = "certificates and host names are checked; the option verify turns that off"
"""The note for a Java client that is told not to check, or to check only a part."""

URI: Table = {
    "connection_timeout": to("connect_timeout", deadline),
    "heartbeat": to("heartbeat", lambda text: heartbeat(count(text))),
    "channel_max": none("negotiated with the broker"),
    "auth_mechanism": to("login", lambda text: _login(text)),
    "verify": differs("verify_peer", VERIFIED),
    "cacertfile": to("ca_file"),
    "certfile": to("certificate"),
    "keyfile": to("key"),
    "password": none("the option key_password is the password of the key"),
    "server_name_indication": to("server_name"),
    "depth": none("chosen by the TLS library"),
    "fail_if_no_peer_cert": none("a broker always has a certificate"),
}
"""Options in the query of an AMQP URI."""

ADDRESS: Table = {
    **alike("uri uris host port virtualHost ssl", to("url")),
    "username": to("user"),
    "password": to("password"),
}
"""Properties of RMQConnectionFactory that form the URL."""

FACTORY: Table = {
    "channelsQos": to("prefetch", count),
    "onMessageTimeoutMs": none(_LISTENER),
    "terminationTimeout": to("close_timeout", milliseconds),
    "queueBrowserReadMax": differs("0", "the number of messages that a browser reads is not limited"),
    "preferProducerMessageProperty": differs("true", "the producer's values win, as Jakarta Messaging says"),
    "requeueOnMessageListenerException": differs("true", "a message whose listener fails is delivered again"),
    "requeueOnTimeout": none(_LISTENER),
    "nackOnRollback": differs("false", "rolled back messages are delivered again, up to max_redeliveries"),
    "confirmListener": none("pass completion_listener to send"),
    "declareReplyToDestination": none("queues are created on first use"),
    "keepTextMessageType": none("text messages stay text messages here"),
    "cleanUpServerNamedQueuesForNonDurableTopicsOnSessionClose": none("subscriptions end with their consumer here"),
    "validateSubscriptionNames": none("names are always checked here"),
    "trustedPackages": none("Java objects are never executed here, so there is nothing to trust"),
    "useDefaultSslContext": none(TLS),
    "tlsProtocol": none("chosen by the TLS library"),
    "hostnameVerification": differs("true", VERIFIED),
    "authenticationMechanism": to("login", lambda text: _login(text)),
    "messageListenerExceptionHandling": none("set an exception_listener"),
    **alike("sendingContextConsumer receivingContextConsumer amqpPropertiesCustomiser", none(_HOOK)),
    **alike("amqpConnectionFactoryPostProcessor metricsCollector", none(_HOOK)),
    "replyToStrategy": none("set jms_reply_to"),
    "namingStrategy": none("queues and topics have the names that the program gives them"),
    **alike("factory className type", none(_CLASS)),
    "auth": none("only for the container"),
    "description": none("a description only"),
    "name": none("replaced by the name of the profile"),
}
"""Other properties of RMQConnectionFactory."""


def heartbeat(seconds: float | str) -> int | str:
    """Whole seconds, as the broker requires; Unlike for 0, which turns heart-beats off."""
    if isinstance(seconds, str):
        return seconds
    if seconds < 1:
        raise Unlike("without heart-beats a dead link would not be noticed: the default is used")
    return round(seconds)


def _login(text: str) -> str | None:
    """The login mechanism; None for user name and password, the default."""
    return "external" if text.strip().lower() == "external" else None


def put(draft: Draft, members: list[Member], tls: bool, by: str) -> None:
    """Add our URLs of these brokers to the draft."""
    put_urls(draft, "rabbitmqs" if tls else "rabbitmq", members, by)


def read(draft: Draft, url: Composite, by: str) -> None:
    """Fill the draft from an AMQP URI."""
    for one in url.members:
        if one.scheme not in ("amqp", "amqps"):
            raise ConfigurationError(f"RabbitMQ's client uses amqp or amqps URLs, not {shown_scheme(one.scheme)}")
    put(draft, [_vhost(one) for one in url.members], url.members[0].scheme == "amqps", by)
    for one in url.members:
        apply(draft, URI, one.options)
    apply(draft, URI, url.options)


def _vhost(one: Member, name: str | None = None) -> Member:
    """A member with its virtual host in the path, quoted once; the default virtual host is left out."""
    name = unquote(one.path.removeprefix("/")) if name is None else name
    quoted = name if unresolved(name) else quote(name, safe="")
    return msgspec.structs.replace(one, path="" if name in ("", "/") else f"/{quoted}")


def read_factory(draft: Draft, options: dict[str, str], by: str) -> None:
    """Fill the draft from the properties of a factory; ``addresses`` are URIs or ``host:port`` texts.

    Of several brokers, the credentials, virtual host and TLS of the first apply to all, as in the Java clients.
    """
    user, password = pop(options, "username"), pop(options, "password")
    host, port, vhost = pop(options, "host"), pop(options, "port"), pop(options, "virtualHost")
    ssl = flag(pop(options, "ssl") or "false") is True
    given = [pop(options, name) for name in ("uri", "uris", "addresses")]
    texts = split_outside(next((text for text in given if text), "") or "")
    if texts:
        members = [member(text) if "://" in text else _plain(text, ssl) for text in texts]
        for name, value in (("host", host), ("port", port)):
            if value is not None:
                draft.drop(name, "no effect if there is a list of addresses, as in Java")
    else:
        members = [Member("amqps" if ssl else "amqp", host or "localhost", port, "", None, None, {})]
    members = [_vhost(one, vhost if vhost is not None and not one.path else None) for one in members]
    members = _as_the_first(draft, members, by)
    put(draft, members, members[0].scheme == "amqps", by)
    for one in members:
        apply(draft, URI, one.options)
    draft.user(user or "", "username")
    draft.password(password or "", "password")
    apply(draft, FACTORY, options, ADDRESS)


def _as_the_first(draft: Draft, members: list[Member], by: str) -> list[Member]:
    """The brokers of a list, with all but host and port from the first one; a note where another differs."""
    first = members[0]
    alike = []
    for one in members:
        same = msgspec.structs.replace(
            one, scheme=first.scheme, user=first.user, password=first.password, path=first.path
        )
        said = one.user is not None or one.path or one.scheme != first.scheme
        if said and same != one:
            draft.drop(
                f"credentials, virtual host and TLS of {one.host}", f"those of {first.host} apply to all, as in Java"
            )
        alike.append(same)
    return alike


def _plain(text: str, tls: bool) -> Member:
    info, _, where = text.rpartition("@")
    where, slash, vhost = where.partition("/")
    user, _, password = info.partition(":")
    host, port = address(where)
    return Member("amqps" if tls else "amqp", host, port, slash + vhost, user or None, password or None, {})
