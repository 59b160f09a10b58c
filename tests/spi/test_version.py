"""The version of the SPI is final: a backend of another version is refused, and nothing of this one is gone."""

import enum
import inspect
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import msgspec
import pytest

import jmsbridge
from jmsbridge import spi
from jmsbridge.config import resolve
from jmsbridge.config.backends import missing_backend
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import SPI_VERSION, OtherVersion, registry
from jmsbridge.testing.scripted.backend import ScriptedBackend
from tests.config.stub import StubBackend


class Other(StubBackend):
    """One for another version, or for none."""

    def __init__(self, version: Any) -> None:
        self.spi_version = version


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed backend for the next version."""
    made = EntryPoint("acme", "tests.spi.test_version:NEXT", registry.GROUP)
    real = registry._entries()
    monkeypatch.setattr(registry, "_entries", lambda: {**real, "acme": made})
    yield
    registry.unregister("acme")


NEXT = Other(SPI_VERSION + 1)


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (SPI_VERSION + 1, r"'acme' was written for version 2 of the SPI; .* has version 1: update jmsbridge"),
        (SPI_VERSION - 1, r"'acme' was written for version 0 of the SPI; .*: update the backend's package"),
        (None, r"'acme' does not say for which version of the SPI it was written; .*: update the backend's package"),
        ("1", r"'acme' does not say"),
        (1.0, r"'acme' does not say"),
    ],
)
def test_a_backend_of_another_version_is_refused(version: Any, text: str) -> None:
    with pytest.raises(OtherVersion, match=text):
        registry.register("acme", Other(version))
    assert "acme" not in registry.names()


@pytest.mark.usefixtures("entry")
def test_an_installed_backend_of_another_version_is_refused_by_every_way_to_it() -> None:
    text = "written for version 2 of the SPI"
    with pytest.raises(OtherVersion, match=text):
        registry.load("acme")
    with pytest.raises(ConfigurationError, match=text):
        jmsbridge.connect("acme://host")
    with pytest.raises(ConfigurationError, match=f"{text}.*update jmsbridge"):
        resolve("acme://host")
    assert text in (missing_backend("acme") or "")


@pytest.mark.parametrize("scheme", ["embedded", "rabbitmq", "rabbitmqs", "stomp", "stomp+ssl"])
def test_the_backends_are_of_this_version(scheme: str) -> None:
    assert registry.load(scheme).spi_version == SPI_VERSION


def test_a_backend_of_this_version_is_used() -> None:
    backend = ScriptedBackend(name="acme")
    registry.register("acme", backend)
    try:
        assert registry.load("acme") is backend
    finally:
        registry.unregister("acme")


# -- what version 1 has

VERBS = {
    "Backend": {"open": ["endpoint", "options", "events"]},
    "Link": {
        "channel": ["transacted"],
        "declare": ["address"],
        "delete": ["address"],
        "unsubscribe": ["key", "address"],
        "close": [],
    },
    "Channel": {
        "send": ["envelope", "ticket"],
        "subscribe": ["interest", "inbox"],
        "commit": ["ticket"],
        "rollback": ["ticket"],
        "close": [],
    },
    "Subscription": {
        "grant": ["count"],
        "settle": ["tokens", "outcome", "ticket", "failures"],
        "drain": ["ticket"],
        "close": [],
    },
    "Inbox": {"put": ["arrival"], "put_again": ["arrival"]},
    "Ticket": {"succeed": [], "fail": ["error"]},
    "LinkEvents": {
        "lost": ["error"],
        "channel_lost": ["channel", "error"],
        "subscription_lost": ["subscription", "error"],
        "throttled": ["active"],
    },
    "Cancels": {"cancel": ["tickets"]},
    "Retires": {"retire": []},
    "Admin": {
        "list_destinations": [],
        "depth": ["address"],
        "create": ["address"],
        "remove": ["address"],
        "purge": ["address", "selector"],
        "move": ["source", "target", "selector", "limit"],
    },
}
ATTRIBUTES = {
    "Backend": {"spi_version", "name", "native", "options"},
    "Link": {"native", "broker"},
    "Subscription": {"native"},
    "Admin": {"dead_letters"},
}
FIELDS = {
    "Address": ["name", "topic", "temporary"],
    "Arrival": ["token", "envelope", "redelivered", "delivery_count", "failures"],
    "Endpoint": [
        *("scheme", "host", "port", "path", "user", "password", "client_id", "connect_timeout", "close_timeout"),
    ],
    "Envelope": [
        *("address", "kind", "body", "properties", "message_id", "timestamp", "persistent", "priority", "expiration"),
        *("delivery_time", "correlation_id", "reply_to", "jms_type", "duplicate_id"),
    ],
    "Interest": [
        *("address", "mode", "key", "durable", "shared", "selector", "select", "no_local", "window", "deferred"),
        *("presettled", "dead_letters", "expired"),
    ],
    "DestinationInfo": ["address", "depth", "consumers", "oldest", "subscription", "client_id"],
}
REQUIRED = {
    "Address": 1,
    "Arrival": 2,
    "Endpoint": 1,
    "Envelope": 6,
    "Interest": 1,
    "DestinationInfo": 3,
}
"""How many of the fields have no default."""
MEMBERS: dict[str, dict[str, int | None]] = {
    "BodyKind": {"NONE": 0, "TEXT": 1, "BYTES": 2, "MAP": 3, "STREAM": 4, "OBJECT": 5},
    "Outcome": dict.fromkeys(("ACCEPTED", "RELEASED", "FAILED", "REQUEUED", "REJECTED")),
    "Mode": dict.fromkeys(("CONSUME", "BROWSE")),
}
NATIVE = {
    *("NONE", "SEND_CONFIRM", "SETTLE_CONFIRM", "TYPED_PROPERTIES", "BODY_KINDS", "TRANSACTIONS", "SEND_TRANSACTIONS"),
    *("TOPIC_SELECTORS", "QUEUE_SELECTORS", "BROWSE", "DURABLE", "SHARED", "SHARED_DURABLE", "CLIENT_ID"),
    *("EXCLUSIVE_DURABLE", "GROUPS", "TEMPORARY", "DELAY", "PRIORITY", "EXPIRY", "DELIVERY_COUNT"),
    *("DUPLICATE_DETECTION", "DRAIN", "CREDIT", "RETURN", "FAIL", "RELEASE", "UNLIMITED_REQUEUE", "REJECT", "NO_LOCAL"),
}
ERRORS = {
    *("AccessDenied", "AddressInUse", "AddressRefused", "AuthenticationFailed", "BackendError", "ChannelLost"),
    *("ClientIdRefused", "ConnectFailed", "LinkLost", "NotSupported", "SelectorRefused", "SendCancelled"),
    *("SendRefused", "SubscriptionRefused", "SubscriptionUnknown", "TransactionRolledBack"),
}


@pytest.mark.parametrize("name", VERBS)
def test_verbs_are_what_they_were(name: str) -> None:
    """A backend written then has them all, and the facade calls no others of it without asking."""
    protocol = getattr(spi, name)
    found = {
        verb: [*inspect.signature(function).parameters][1:]
        for verb, function in vars(protocol).items()
        if inspect.isfunction(function) and not verb.startswith("_")
    }
    assert found == VERBS[name]
    assert set(inspect.get_annotations(protocol)) == ATTRIBUTES.get(name, set())


@pytest.mark.parametrize("name", FIELDS)
def test_structs_have_their_fields_in_order_and_new_ones_have_defaults(name: str) -> None:
    fields = msgspec.structs.fields(getattr(spi, name))
    assert [field.name for field in fields][: len(FIELDS[name])] == FIELDS[name]
    assert [field.required for field in fields] == [at < REQUIRED[name] for at in range(len(fields))]


@pytest.mark.parametrize("name", MEMBERS)
def test_enumerations_are_what_they_were(name: str) -> None:
    """With another outcome or kind, a backend would get what it does not know."""
    members: dict[str, enum.Enum] = dict(getattr(spi, name).__members__)
    assert members.keys() == MEMBERS[name].keys()
    assert all(value in (None, members[member].value) for member, value in MEMBERS[name].items())


def test_no_capability_and_no_error_is_gone() -> None:
    assert set(spi.Native.__members__) >= NATIVE
    assert all(issubclass(getattr(spi, name), spi.BackendError) for name in ERRORS)
