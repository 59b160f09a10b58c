"""The one table of features: what the client emulates at which price, and what is refused, where a broker lacks them.

Production, ``Connection.capabilities``, ``jmsbridge backends``, the documentation and the compliance suite's marks read
it. A row's name is its name in the option ``emulation``.
"""

from typing import Literal

import msgspec

from jmsbridge.spi import Native

__all__ = ["FEATURES", "Feature", "Outcome"]

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


FEATURES: tuple[Feature, ...] = (
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
        needs=Native.UNLIMITED_REQUEUE,
    ),
    _row(
        Native.BROWSE,
        "queue browser",
        "messages are taken, and all handed back at once",
        "others do not see them meanwhile, then marked redelivered; emulation_limit messages are shown at most",
        "emulated",
        warns=True,
        needs=Native.UNLIMITED_REQUEUE,
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
