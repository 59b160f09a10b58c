"""The Java client to which a URL belongs, and the reading of a URL of each client."""

from collections.abc import Iterable

from jmsbridge.config.java import artemis, classic, pulsar, qpid, rabbitmq
from jmsbridge.config.java.model import Client, Draft
from jmsbridge.config.java.urls import Composite, composite
from jmsbridge.errors import ConfigurationError

__all__ = ["client_of_url", "read_url"]

_QPID = ("jms.", "amqp.", "transport.", "failover.", "sasl.")
_CLASSIC = ("jms.", "wireformat.", "socket.", "nested.")


def client_of_url(text: str) -> tuple[Client, str | None]:
    """The client, and a note if another client is possible but less likely."""
    text = text.strip()
    if text.lower().startswith(("pulsar://", "pulsar+ssl://")):
        return "pulsar", None
    url = composite(text)
    schemes = {one.scheme for one in url.members}
    names = [name for one in url.members for name in one.options] + list(url.options)
    if schemes & {"amqp", "amqps", "amqpws", "amqpwss"}:
        return _of_amqp(url, names)
    if url.scheme == "" and (text.startswith("(") or len(url.members) > 1):
        return "artemis", None
    if url.scheme or schemes - {"tcp", "ssl"} or any(name.lower().startswith(_CLASSIC) for name in names):
        return "classic", None
    theirs, ours = {**artemis.FIRST, **artemis.TABLE}, {**classic.FIRST, **classic.TABLE}
    if _only_in(names, theirs, ours):
        return "artemis", None
    if _only_in(names, ours, theirs):
        return "classic", None
    return "classic", "read as ActiveMQ Classic's; for Artemis use --client artemis"


def _of_amqp(url: Composite, names: list[str]) -> tuple[Client, str | None]:
    if "brokerlist" in names:
        raise ConfigurationError("this URL is for Qpid's client for AMQP 0-9 and 0-10, which is not supported")
    if url.scheme or any(name.lower().startswith(_QPID) for name in names):
        return "qpid", None
    first = url.members[0]
    if first.path.strip("/") or set(names) & set(rabbitmq.URI):
        return "rabbitmq", None
    if first.user is not None:
        return "rabbitmq", "read as RabbitMQ's (AMQP 0-9-1); for Qpid JMS (AMQP 1.0) use --client qpid"
    return "qpid", "read as Qpid JMS' (AMQP 1.0); for RabbitMQ's client use --client rabbitmq"


def _only_in(names: Iterable[str], one: Iterable[str], other: Iterable[str]) -> bool:
    mine = {name.lower() for name in one} - {name.lower() for name in other}
    return any(name.lower() in mine for name in names)


def read_url(draft: Draft, text: str, by: str, prefer: str) -> None:
    """Fill the draft from a URL of its client, for the preferred protocol of ActiveMQ (``amqp`` or ``stomp``)."""
    if draft.client == "pulsar":
        pulsar.read_url(draft, text, by)
    elif draft.client == "qpid":
        qpid.read(draft, composite(text), by)
    elif draft.client == "rabbitmq":
        rabbitmq.read(draft, composite(text), by)
    elif draft.client == "artemis":
        artemis.read(draft, composite(text), by, prefer)
    else:
        classic.read(draft, composite(text), by, prefer)
