"""The one table of what is native, what the client emulates at which price, and what is refused.

Production, ``Connection.capabilities``, ``jmsbridge backends``, the documentation and the suite's marks all read it.
"""

import logging
import threading
from collections.abc import Mapping
from typing import Literal

import msgspec

from jmsbridge.errors import ConfigurationError, EmulationWarning, UnsupportedFeatureException
from jmsbridge.spi import Native
from jmsbridge.warning import warn

__all__ = ["TABLE", "Capability", "Feature", "Outcome", "Plan", "resolve"]

log = logging.getLogger("jmsbridge.plan")

Outcome = Literal["native", "emulated", "refused"]


class Feature(msgspec.Struct, frozen=True):
    """One row: what is done about a capability that the broker lacks.

    ``emulation`` is None where the client can do nothing; it needs ``needs`` of the broker. ``default`` is what happens
    unless the user says otherwise; ``warns`` where the price deserves an EmulationWarning.
    """

    native: Native
    name: str
    text: str
    emulation: str | None
    price: str
    default: Outcome
    warns: bool = False
    needs: Native = Native.NONE


class Capability(msgspec.Struct, frozen=True):
    """How one feature is had on a connection: ``outcome`` is "native" (by the broker), "emulated" (by the client) or
    "refused" (UnsupportedFeature).

    ``name`` is the feature's name in the option ``emulation``, ``text`` what it is. ``price`` says what the client does
    instead and what that costs, or what is missed; empty where it is native.
    """

    name: str
    text: str
    outcome: Outcome
    price: str


def _row(
    native: Native,
    text: str,
    emulation: str | None,
    price: str,
    default: Outcome,
    *,
    warns: bool = False,
    needs: Native = Native.NONE,
    name: str | None = None,
) -> Feature:
    return Feature(native, name or str(native.name).lower(), text, emulation, price, default, warns, needs)


TABLE: tuple[Feature, ...] = (
    _row(Native.SEND_CONFIRM, "send confirmation", None, "an answer after the write confirms nothing", "refused"),
    _row(
        Native.TRANSACTIONS,
        "local transaction",
        "sends are held; commit sends and confirms all, then acknowledges",
        "not atomic: a failed commit may leave some sends visible and then raises InDoubt; duplicates, never loss",
        "emulated",
        warns=True,
    ),
    _row(
        Native.TOPIC_SELECTORS,
        "selector on a topic subscription",
        "filter on arrival, accept the rest",
        "traffic and backlog of what does not match",
        "emulated",
    ),
    _row(
        Native.QUEUE_SELECTORS,
        "selector on a queue",
        "what does not match is parked, and handed back after a while",
        "others do not see it meanwhile, then out of order and marked redelivered; nothing is found behind "
        "emulation_limit messages that nobody wants",
        "emulated",
        warns=True,
        needs=Native.HAND_BACK,
    ),
    _row(
        Native.BROWSE,
        "queue browser",
        "messages are taken, and all handed back at once",
        "others do not see them meanwhile, then marked redelivered; emulation_limit messages are shown at most",
        "emulated",
        warns=True,
        needs=Native.HAND_BACK,
    ),
    _row(Native.DURABLE, "durable subscription", None, "nothing keeps messages while the consumer is away", "refused"),
    _row(Native.SHARED, "shared subscription", None, "none across processes", "refused"),
    _row(Native.SHARED_DURABLE, "shared durable subscription", None, "none across processes", "refused"),
    _row(
        Native.CLIENT_ID,
        "unique client id",
        "checked within the process",
        "two processes may use one id",
        "emulated",
        warns=True,
    ),
    _row(
        Native.EXCLUSIVE_DURABLE,
        "exclusive durable subscription",
        "checked within the process",
        "two processes may consume one subscription",
        "emulated",
        warns=True,
    ),
    _row(
        Native.GROUPS,
        "message groups",
        "JMSXGroupID is sent along as a property",
        "several consumers share the messages of one group",
        "refused",
        warns=True,
        name="message_groups",
    ),
    _row(
        Native.TEMPORARY, "temporary destination", "unique name, deleted on close", "left behind by a crash", "emulated"
    ),
    _row(
        Native.DELAY,
        "delivery delay",
        "the message waits in the process until it is due",
        "send returns before anything is sent, completions wait; lost with the process, and a close waits no longer "
        "than close_timeout",
        "refused",
        name="delivery_delay",
    ),
    _row(Native.PRIORITY, "priority", "order among the messages that have arrived", "local only", "emulated"),
    _row(Native.EXPIRY, "expiry", "drop on arrival", "the broker keeps storing", "emulated"),
    _row(
        Native.DELIVERY_COUNT, "delivery count", "counted locally, at least 2 when redelivered", "inexact", "emulated"
    ),
    _row(Native.SETTLE_CONFIRM, "confirmed settlement", None, "an acknowledgement may be lost unnoticed", "refused"),
    _row(Native.DUPLICATE_DETECTION, "duplicate detection", None, "a message sent again arrives again", "refused"),
    _row(
        Native.DRAIN,
        "receive without waiting",
        "a short grace wait",
        "a late message may be missed once",
        "emulated",
    ),
    _row(Native.CREDIT, "exact credit", "the broker's prefetch", "a bounded number of messages more", "emulated"),
    _row(
        Native.RELEASE,
        "give back without counting",
        "handed back as failed",
        "messages nobody saw are marked redelivered",
        "emulated",
    ),
    _row(
        Native.REJECT,
        "dead-letter queue",
        "redelivered on every 30 seconds",
        "a poisonous message is never put aside",
        "emulated",
        warns=True,
    ),
    _row(Native.NO_LOCAL, "no_local", None, "own messages come back", "refused"),
    _row(Native.TYPED_PROPERTIES, "typed properties", None, "types are lost", "refused"),
    _row(Native.BODY_KINDS, "body kinds", None, "kinds are lost", "refused"),
)

_ROWS = {row.native: row for row in TABLE}


class Plan:
    """What holds on one link: asked before a feature is used. Thread-safe."""

    def __init__(self, native: Native, settings: Mapping[str, str] | str, broker: str = "this broker") -> None:
        self.native = native
        self.broker = broker
        self.is_quiet = False
        """While a link is restored there is no caller to warn: the prices go to the log."""
        self._settings = settings
        self._lock = threading.Lock()  # guards _warned
        self._warned: set[Native] = set()
        if not isinstance(settings, str):
            unknown = set(settings) - {row.name for row in TABLE} - {"default"}
            if unknown:
                raise ConfigurationError(f"emulation names unknown features: {', '.join(sorted(unknown))}")

    def outcome(self, feature: Native) -> Outcome:
        """How this feature is had here."""
        if feature in self.native:
            return "native"
        row = _ROWS.get(feature)
        if row is None or row.emulation is None or row.needs & ~self.native:
            return "refused"
        setting = self._setting(row.name)
        if setting == "default":
            return row.default
        return "emulated" if setting == "allow" else "refused"

    def _setting(self, name: str) -> str:
        if isinstance(self._settings, str):
            return self._settings
        return self._settings.get(name, self._settings.get("default", "default"))

    def capabilities(self) -> dict[str, Capability]:
        """Every feature of the table, by name and in its order."""
        return {row.name: self._capability(row) for row in TABLE}

    def _capability(self, row: Feature) -> Capability:
        outcome = self.outcome(row.native)
        price = "" if outcome == "native" else "; ".join(filter(None, (row.emulation, row.price)))
        return Capability(row.name, row.text, outcome, price)

    def require(self, feature: Native) -> Outcome:
        """Use a feature: UnsupportedFeature where it is refused, an EmulationWarning once where that is due."""
        outcome = self.outcome(feature)
        if outcome == "native":
            return outcome
        row = _ROWS[feature]
        if outcome == "refused":
            raise UnsupportedFeatureException(
                f"{self.broker} has no {row.text}: {row.price}{self._remedy(row)}", row.name
            )
        if self.is_quiet:
            log.warning("%s has no %s; %s: %s", self.broker, row.text, row.emulation, row.price)
            return outcome
        with self._lock:
            first = feature not in self._warned
            self._warned.add(feature)
        if first and row.warns:
            warn(f"{self.broker} has no {row.text}; {row.emulation}: {row.price}", EmulationWarning)
        elif first:
            log.info("%s has no %s; %s: %s", self.broker, row.text, row.emulation, row.price)
        return outcome

    def _remedy(self, row: Feature) -> str:
        if row.emulation is None:
            return ""
        lacking = row.needs & ~self.native
        if lacking:
            return f"; the client cannot emulate it, since handing a message back is not safe here ({lacking.name})"
        return f'; emulation = {{ {row.name} = "allow" }} permits it'


def resolve(native: Native, emulation: Mapping[str, str] | str = "default", broker: str = "this broker") -> Plan:
    """The plan for a link that offers ``native``, under the user's ``emulation`` setting.

    The setting is ``"default"``, ``"allow"``, ``"refuse"``, or a mapping from feature names to these.
    """
    return Plan(native, emulation, broker)
