"""Spring Boot's ``application.properties`` and ``application.yml``: its messaging settings."""

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from jmsbridge.config.java import artemis, classic, pulsar, qpid, rabbitmq
from jmsbridge.config.java.listener import LISTENER, read_listener
from jmsbridge.config.java.model import Client, Draft
from jmsbridge.config.java.pulsar_login import LOGIN_PARAMETERS, LOGINS, login
from jmsbridge.config.java.rules import Table, alike, apply, differs, none, to
from jmsbridge.config.java.text import deadline, flag, limit, spring_duration, unresolved
from jmsbridge.config.java.urls import composite
from jmsbridge.errors import ConfigurationError

__all__ = ["FIRST", "TABLE", "clients_of", "documents", "is_spring", "read"]

_SECTIONS: dict[str, Client] = {
    "spring.activemq.": "classic",
    "spring.artemis.": "artemis",
    "spring.rabbitmq.": "rabbitmq",
    "amqphub.amqp10jms.": "qpid",
    "spring.pulsar.": "pulsar",
}
_IN_CODE = "an argument in the program, not an option of a connection"
_POOL = "there is no pool: one connection serves the whole program, with a session per thread"
_NOT_EXECUTED = "Java objects are never executed here, so there is nothing to trust"
_PULSAR = "the pulsar backend has no such option"
_STORES = "keys and certificates are PEM files here: export them, and set ca_file, certificate and key"
_MOST_SETTINGS = 10_000
_DEEPEST = 32


def _seconds(text: str) -> float | int | str:
    """A duration of Spring that is in seconds if it has no unit."""
    if unresolved(text):
        return text
    return spring_duration(f"{text.strip()}s" if text.strip().isdigit() else text)


def _deadline(text: str) -> float | int | str:
    return deadline(text, spring_duration)


FIRST: Table = {
    **alike("spring.activemq.broker-url spring.artemis.broker-url amqphub.amqp10jms.remote-url", to("url")),
    **alike("host port mode", to("url"), "spring.artemis."),
    **alike("host port virtual-host addresses ssl.enabled", to("url"), "spring.rabbitmq."),
    "spring.rabbitmq.username": to("user"),
    "spring.rabbitmq.password": to("password"),
    **LISTENER,
    "spring.pulsar.client.service-url": to("url"),
    "spring.pulsar.client.authentication.plugin-class-name": none("says which login is meant"),
    **alike(" ".join(LOGIN_PARAMETERS), to("token", differs=LOGINS), "spring.pulsar.client.authentication.param."),
    **alike("tenant namespace", to("namespace"), "spring.pulsar.defaults.topic."),
    "spring.pulsar.consumer.dead-letter-policy.dead-letter-topic": to(
        "redelivery", differs="for all queues and topics"
    ),
}
"""Settings that depend on each other: those that form the URL, and those for messages on which a listener fails."""

TABLE: Table = {
    "spring.activemq.user": to("user"),
    "spring.activemq.password": to("password"),
    "spring.activemq.close-timeout": to("close_timeout", spring_duration),
    "spring.activemq.send-timeout": to("send_timeout", _deadline),
    "spring.activemq.non-blocking-redelivery": differs("false", "redelivery keeps the order here"),
    "spring.activemq.packages.*": none(_NOT_EXECUTED),
    "spring.activemq.in-memory": none("the broker embedded in the process has the URL embedded:"),
    "spring.activemq.embedded.*": none("the broker embedded in the process has the URL embedded:"),
    "spring.activemq.pool.*": none(_POOL),
    "spring.artemis.user": to("user"),
    "spring.artemis.password": to("password"),
    "spring.artemis.embedded.*": none("the embedded broker is created on first use, with its own options"),
    "spring.artemis.pool.*": none(_POOL),
    "spring.rabbitmq.connection-timeout": to("connect_timeout", _deadline),
    "spring.rabbitmq.requested-heartbeat": to("heartbeat", lambda text: rabbitmq.heartbeat(_seconds(text))),
    "spring.rabbitmq.requested-channel-max": none("negotiated with the broker"),
    "spring.rabbitmq.channel-rpc-timeout": none("requests use connect_timeout here"),
    "spring.rabbitmq.max-inbound-message-body-size": none("limited by the broker"),
    "spring.rabbitmq.address-shuffle-mode": differs("none", "the URLs are tried in the order given"),
    "spring.rabbitmq.publisher-confirm-type": differs(
        "correlated", "sends are always confirmed here; block_on_durable_send says which of them wait", "simple"
    ),
    "spring.rabbitmq.publisher-confirms": differs("true", "sends are always confirmed here"),
    "spring.rabbitmq.publisher-returns": differs("true", "a message that reaches no queue is an error here"),
    **alike("verify-hostname validate-server-certificate", differs("true", rabbitmq.VERIFIED), "spring.rabbitmq.ssl."),
    **alike(
        "bundle key-store key-store-type key-store-password key-store-algorithm trust-store trust-store-type "
        "trust-store-password trust-store-algorithm",
        none(_STORES),
        "spring.rabbitmq.ssl.",
    ),
    "spring.rabbitmq.ssl.algorithm": none("chosen by the TLS library"),
    "spring.rabbitmq.cache.*": none(_POOL),
    "spring.rabbitmq.template.*": none(_IN_CODE),
    **alike("stream.* listener.stream.*", none("streams are not offered"), "spring.rabbitmq."),
    "spring.rabbitmq.dynamic": none("queues are created on first use"),
    "amqphub.amqp10jms.username": to("user"),
    "amqphub.amqp10jms.password": to("password"),
    "amqphub.amqp10jms.client-id": to("client_id"),
    "amqphub.amqp10jms.receive-local-only": differs("false", "a receive that finds nothing asks the broker here"),
    "amqphub.amqp10jms.receive-no-wait-local-only": differs("false", "a receive that finds nothing asks the broker"),
    "amqphub.amqp10jms.deserialization-policy.*": none("Java objects are never executed here"),
    "amqphub.amqp10jms.pool.*": none(_POOL),
    "spring.pulsar.client.connection-timeout": to("connect_timeout", _deadline),
    **alike("operation-timeout lookup-timeout", none("part of connect_timeout here"), "spring.pulsar.client."),
    **alike("authentication.* failover.* threads.*", none(_PULSAR), "spring.pulsar.client."),
    "spring.pulsar.producer.send-timeout": to("send_timeout", _deadline),
    "spring.pulsar.producer.batching-enabled": to("batching", flag),
    "spring.pulsar.admin.service-url": to("admin_url", pulsar.first_host),
    **alike(
        "access-mode cache.* chunking-enabled compression-type hashing-scheme message-routing-mode name topic-name",
        none(_PULSAR),
        "spring.pulsar.producer.",
    ),
    "spring.pulsar.consumer.dead-letter-policy.max-redeliver-count": to("max_redeliveries", limit),
    "spring.pulsar.consumer.dead-letter-policy.retry-letter-topic": none(
        "a failed message waits in its consumer here, not in a topic"
    ),
    "spring.pulsar.consumer.dead-letter-policy.initial-subscription-name": none(_PULSAR),
    **alike(
        "name priority-level read-compacted retry-enable subscription.* topics topics-pattern",
        none(_PULSAR),
        "spring.pulsar.consumer.",
    ),
    **alike("admin.* defaults.* function.* reader.* transaction.*", none(_PULSAR), "spring.pulsar."),
    **alike("listener.* template.*", none(_IN_CODE), "spring.pulsar."),
    "spring.jms.client-id": to("client_id"),
    "spring.jms.pub-sub-domain": differs("false", "use create_queue or create_topic"),
    "spring.jms.subscription-durable": differs("false", "use create_durable_consumer"),
    "spring.jms.jndi-name": none("there is no naming service here"),
    "spring.jms.cache.*": none(_POOL),
    **alike("listener.* template.*", none(_IN_CODE), "spring.jms."),
}
"""All other settings."""


def is_spring(names: Mapping[str, Any]) -> bool:
    """Whether these settings are those of a Spring Boot application."""
    return any(_folded(name).startswith(("spring.", "amqphub.", "server.", "management.")) for name in names)


def documents(text: str) -> list[dict[str, str]]:
    """The documents of a YAML file, each as texts by dotted names."""
    try:
        loaded = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        problem = str(getattr(error, "problem", "") or "").partition("'")[0]  # what is quoted may be a secret
        raise ConfigurationError(f"the file is not valid YAML{line}: {problem}".strip(": ")) from None
    flat = []
    for document in loaded:
        if document is not None and not isinstance(document, dict):
            raise ConfigurationError("the YAML file is not a map of settings")
        leaves: dict[str, str] = {}
        _flatten("", document or {}, leaves, 0)
        flat.append(leaves)
    return flat


def _flatten(prefix: str, value: Any, leaves: dict[str, str], depth: int) -> None:
    if depth > _DEEPEST or len(leaves) > _MOST_SETTINGS:
        raise ConfigurationError("the YAML file has too many settings, or nests them too deeply")
    if isinstance(value, dict):
        for key, inner in value.items():
            _flatten(f"{prefix}.{key}" if prefix else str(key), inner, leaves, depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _flatten(f"{prefix}[{number}]", inner, leaves, depth + 1)
        if value and all(not isinstance(inner, dict | list) for inner in value):
            leaves[prefix] = ",".join(map(str, value))  # as in a .properties file
    else:
        leaves[prefix] = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def clients_of(settings: Mapping[str, str]) -> list[Client]:
    """The clients that these settings configure."""
    return [
        client for section, client in _SECTIONS.items() if any(_folded(name).startswith(section) for name in settings)
    ]


def _folded(name: str) -> str:
    """Spring's relaxed binding: ``brokerUrl``, ``broker-url`` and ``broker_url`` are the same name."""
    return name.replace("-", "").replace("_", "").lower()


def read(draft: Draft, settings: Mapping[str, str], prefer: str) -> None:
    """Fill the draft from the settings of its client and from the common JMS settings."""
    section = next(section for section, client in _SECTIONS.items() if client == draft.client)
    own = {name: text for name, text in settings.items() if _folded(name).startswith((section, "spring.jms."))}
    own = _joined(own)
    taken = {name: own.pop(name) for name in list(own) if _folded(name) in _FIRST}

    def take(name: str) -> str | None:
        key = next((key for key in taken if _folded(key) == _folded(section + name)), None)
        return None if key is None else taken.pop(key).strip()

    apply(draft, TABLE, own, FIRST, _folded)  # before the URL, which they override in Spring
    _READERS[draft.client](draft, take, section, prefer)


def _joined(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, with ``name[0]``, ``name[1]`` joined to a list under ``name``."""
    joined: dict[str, str] = {}
    for name, text in settings.items():
        base, bracket, rest = name.partition("[")
        if not bracket or not rest.endswith("]"):
            joined[name] = text
        elif base not in settings:
            joined[base] = f"{joined[base]},{text}" if base in joined else text
    return joined


_Take = Callable[[str], str | None]


def _classic(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    url, memory, embedded = take("broker-url"), take("in-memory"), take("embedded.enabled")
    inside = "true" in (memory, embedded)
    if inside and url:
        draft.drop(f"{section}in-memory", f"{section}broker-url is set")
    url = url or ("vm://localhost" if inside else "tcp://localhost:61616")
    classic.read(draft, composite(url), f"{section}broker-url", prefer)


def _artemis(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    url, mode = take("broker-url"), (take("mode") or "").lower()
    host, port = take("host"), take("port")
    for name, text in (("host", host), ("port", port)):
        if text is not None and (url or mode == "embedded"):
            draft.drop(f"{section}{name}", f"{section}{'broker-url' if url else 'mode'} is set")
    url = "vm://0" if mode == "embedded" else url or f"tcp://{host or 'localhost'}:{port or '61616'}"
    artemis.read(draft, composite(url), f"{section}broker-url", prefer)


def _rabbitmq(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    names = ("host", "port", "username", "password", "addresses")
    options = {name: text for name in names if (text := take(name)) is not None}
    for ours, theirs in (("virtualHost", "virtual-host"), ("ssl", "ssl.enabled")):
        if (text := take(theirs)) is not None:
            options[ours] = text
    rabbitmq.read_factory(draft, options, section.rstrip("."))
    read_listener(draft, take)


def _qpid(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    qpid.read(draft, composite(take("remote-url") or "amqp://localhost:5672"), f"{section}remote-url")


def _pulsar(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    pulsar.read_url(draft, take("client.service-url") or "pulsar://localhost:6650", f"{section}client.service-url")
    name = "consumer.dead-letter-policy.dead-letter-topic"
    if (topic := take(name)) is not None:
        pulsar.dead_letters(draft, topic, f"{section}{name}")
    plugin, params = take("client.authentication.plugin-class-name"), "client.authentication.param"
    named = {name: text for name in LOGIN_PARAMETERS if (text := take(f"{params}.{name}")) is not None}
    if plugin:
        login(draft, plugin, "", named, f"{section}{params}")
    tenant, namespace = take("defaults.topic.tenant"), take("defaults.topic.namespace")
    if tenant or namespace:
        names = f"{tenant or 'public'}/{namespace or 'default'}"
        draft.set("namespace", names, f"{section}defaults.topic.{'namespace' if namespace else 'tenant'}")


_FIRST = {_folded(name) for name in (*FIRST, "spring.activemq.in-memory", "spring.activemq.embedded.enabled")}
_READERS: dict[str, Callable[[Draft, _Take, str, str], None]] = {
    "classic": _classic,
    "artemis": _artemis,
    "rabbitmq": _rabbitmq,
    "qpid": _qpid,
    "pulsar": _pulsar,
}
