"""Spring Boot's ``application.properties`` and ``application.yml``: its messaging settings."""

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from jmsbridge.config.java import artemis, classic, pulsar, qpid, rabbitmq
from jmsbridge.config.java.model import Client, Draft
from jmsbridge.config.java.rules import Table, apply, differs, none, to
from jmsbridge.config.java.text import int_or_reference, spring_duration, unresolved
from jmsbridge.config.java.urls import composite
from jmsbridge.errors import ConfigurationError

__all__ = ["TABLE", "clients_of", "documents", "is_spring", "read"]

_SECTIONS: dict[str, Client] = {
    "spring.activemq.": "classic",
    "spring.artemis.": "artemis",
    "spring.rabbitmq.": "rabbitmq",
    "amqphub.amqp10jms.": "qpid",
    "spring.pulsar.": "pulsar",
}
_IN_CODE = "an argument in the program, not of a connection"
_POOL = "there is no pool: one connection serves the whole program, with a session per thread"
_MOST_SETTINGS = 10_000
_DEEPEST = 32


def _seconds(text: str) -> float | int | str:
    """Spring's durations that are seconds when no unit is given."""
    if unresolved(text):
        return text
    return spring_duration(f"{text.strip()}s" if text.strip().isdigit() else text)


TABLE: Table = {
    "spring.activemq.user": to("user"),
    "spring.activemq.password": to("password"),
    "spring.activemq.close-timeout": to("close_timeout", spring_duration),
    "spring.activemq.send-timeout": to("send_timeout", lambda t: None if t.strip() == "0" else spring_duration(t)),
    "spring.activemq.non-blocking-redelivery": differs("false", "redelivery keeps the order here"),
    "spring.activemq.packages.*": none("Java objects are never executed here, so that there is nothing to trust"),
    "spring.activemq.in-memory": none("the URL embedded: is the broker inside the process"),
    "spring.activemq.embedded.*": none("the URL embedded: is the broker inside the process"),
    "spring.activemq.pool.*": none(_POOL),
    "spring.artemis.user": to("user"),
    "spring.artemis.password": to("password"),
    "spring.artemis.embedded.*": none("the embedded broker is made on first use, with its own options"),
    "spring.artemis.pool.*": none(_POOL),
    "spring.rabbitmq.connection-timeout": to("connect_timeout", lambda t: spring_duration(t) or None),
    "spring.rabbitmq.requested-heartbeat": to("heartbeat", lambda text: rabbitmq.heartbeat(_seconds(text))),
    "spring.rabbitmq.requested-channel-max": none("agreed with the broker"),
    "spring.rabbitmq.channel-rpc-timeout": none("requests share connect_timeout here"),
    "spring.rabbitmq.max-inbound-message-body-size": none("the broker's own affair"),
    "spring.rabbitmq.address-shuffle-mode": differs("none", "the URLs are tried in the order in which they stand"),
    "spring.rabbitmq.publisher-confirm-type": differs(
        "correlated", "sends are always confirmed here: block_on_durable_send says who waits"
    ),
    "spring.rabbitmq.publisher-confirms": differs("true", "sends are always confirmed here"),
    "spring.rabbitmq.publisher-returns": differs("true", "a message that reaches no queue is an error here"),
    "spring.rabbitmq.ssl.*": none("keys and certificates are files of a TLS library's own form (PEM) here"),
    "spring.rabbitmq.cache.*": none(_POOL),
    "spring.rabbitmq.listener.simple.prefetch": to("prefetch", int_or_reference),
    "spring.rabbitmq.listener.direct.prefetch": to("prefetch", int_or_reference),
    "spring.rabbitmq.listener.*": none(_IN_CODE),
    "spring.rabbitmq.template.*": none(_IN_CODE),
    "spring.rabbitmq.stream.*": none("streams are not offered"),
    "spring.rabbitmq.dynamic": none("queues are made on first use"),
    "amqphub.amqp10jms.username": to("user"),
    "amqphub.amqp10jms.password": to("password"),
    "amqphub.amqp10jms.client-id": to("client_id"),
    "amqphub.amqp10jms.receive-local-only": differs("false", "a receive that finds nothing asks the broker here"),
    "amqphub.amqp10jms.receive-no-wait-local-only": differs("false", "a receive that finds nothing asks the broker"),
    "amqphub.amqp10jms.deserialization-policy.*": none("Java objects are never executed here"),
    "amqphub.amqp10jms.pool.*": none(_POOL),
    "spring.pulsar.client.connection-timeout": to("connect_timeout", spring_duration),
    "spring.pulsar.producer.send-timeout": to("send_timeout", spring_duration),
    "spring.pulsar.*": none("an option of the pulsar backend, where it has one"),
    "spring.jms.client-id": to("client_id"),
    "spring.jms.pub-sub-domain": differs("false", "a destination says what it is: create_queue or create_topic"),
    "spring.jms.jndi-name": none("there is no naming service here"),
    "spring.jms.cache.*": none(_POOL),
    "spring.jms.*": none(_IN_CODE),
}
"""All but what makes the URL."""


def is_spring(names: Mapping[str, Any]) -> bool:
    """Whether these settings are those of a Spring Boot application."""
    return any(_folded(name).startswith(("spring.", "amqphub.", "server.", "management.")) for name in names)


def documents(text: str) -> list[dict[str, str]]:
    """The documents of a YAML file as dotted names with texts."""
    try:
        loaded = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        raise ConfigurationError(
            f"the file is not valid YAML{line}: {getattr(error, 'problem', '')}".strip(": ")
        ) from None
    flat = []
    for document in loaded:
        if document is not None and not isinstance(document, dict):
            raise ConfigurationError("the YAML file is no map of settings")
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
            leaves[prefix] = ",".join(map(str, value))  # the form that .properties files have for the same list
    else:
        leaves[prefix] = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def clients_of(settings: Mapping[str, str]) -> list[Client]:
    """The clients that these settings configure."""
    return [
        client for section, client in _SECTIONS.items() if any(_folded(name).startswith(section) for name in settings)
    ]


def _folded(name: str) -> str:
    """Spring's relaxed binding: ``brokerUrl``, ``broker-url`` and ``broker_url`` are one name."""
    return name.replace("-", "").replace("_", "").lower()


def read(draft: Draft, settings: Mapping[str, str], prefer: str) -> None:
    """Fill the draft from the settings of its client, and from those that all JMS clients share."""
    section = next(section for section, client in _SECTIONS.items() if client == draft.client)
    own = {name: text for name, text in settings.items() if _folded(name).startswith((section, "spring.jms."))}
    own = {name: text for name, text in own.items() if not ("[" in name and name.partition("[")[0] in own)}

    def take(name: str) -> str | None:
        key = next((key for key in own if _folded(key) == _folded(section + name)), None)
        return None if key is None else own.pop(key).strip()

    _READERS[draft.client](draft, take, section, prefer)
    apply(draft, TABLE, own, _folded)


_Take = Callable[[str], str | None]


def _classic(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    url, memory, embedded = take("broker-url"), take("in-memory"), take("embedded.enabled")
    inside = "true" in (memory, embedded)
    url = url or ("vm://localhost" if inside else "tcp://localhost:61616")
    classic.read(draft, composite(url), f"{section}broker-url", prefer)


def _artemis(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    url, mode = take("broker-url"), (take("mode") or "").lower()
    host, port = take("host") or "localhost", take("port") or "61616"
    url = "vm://0" if mode == "embedded" else url or f"tcp://{host}:{port}"
    artemis.read(draft, composite(url), f"{section}broker-url", prefer)


def _rabbitmq(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    names = ("host", "port", "username", "password", "addresses")
    options = {name: text for name in names if (text := take(name)) is not None}
    for ours, theirs in (("virtualHost", "virtual-host"), ("ssl", "ssl.enabled")):
        if (text := take(theirs)) is not None:
            options[ours] = text
    rabbitmq.read_factory(draft, options, section.rstrip("."))


def _qpid(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    qpid.read(draft, composite(take("remote-url") or "amqp://localhost:5672"), f"{section}remote-url")


def _pulsar(draft: Draft, take: _Take, section: str, prefer: str) -> None:
    pulsar.read_url(draft, take("client.service-url") or "pulsar://localhost:6650", f"{section}client.service-url")


_READERS: dict[str, Callable[[Draft, _Take, str, str], None]] = {
    "classic": _classic,
    "artemis": _artemis,
    "rabbitmq": _rabbitmq,
    "qpid": _qpid,
    "pulsar": _pulsar,
}
