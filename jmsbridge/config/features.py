"""The table of features: for each, what the client emulates at which price, or refuses, if the broker lacks it.

The facade, ``Connection.capabilities``, ``jmsbridge backends``, the documentation and the compliance suite's marks read
it. The name of a row is its name in the option ``emulation``.
"""

from typing import Final, Literal

import msgspec

from jmsbridge.spi import Native

__all__ = ["FEATURES", "SEND_GROUPS", "Feature", "Outcome"]

Outcome = Literal["native", "emulated", "refused"]

SEND_GROUPS: Final = "send_groups"
"""The name of a feature that needs the same capability as another one."""


class Feature(msgspec.Struct, frozen=True):
    """One row: what happens when the broker lacks a capability.

    ``emulation`` says what the client does, which requires ``needs`` of the broker; None if it can do nothing.
    ``default`` is the outcome unless an option changes it; ``warns`` is True if the price needs an EmulationWarning;
    ``called`` is the name of a row that is not the first one of its capability.
    """

    native: Native
    text: str
    emulation: str | None
    price: str
    default: Outcome
    warns: bool = False
    needs: Native = Native.NONE
    called: str = ""

    @property
    def name(self) -> str:
        """Its name in the option ``emulation``."""
        return self.called or _NAMES.get(self.native) or str(self.native.name).lower()


_NAMES = {Native.GROUPS: "message_groups", Native.DELAY: "delivery_delay"}

FEATURES: tuple[Feature, ...] = (
    Feature(Native.SEND_CONFIRM, "send confirmation", None, "a send that was only written is not confirmed", "refused"),
    Feature(
        Native.TRANSACTIONS,
        "local transaction",
        "commit makes the sends effective, waits for the broker's answer, then acknowledges what was received",
        "if a commit fails halfway, received messages are delivered again although replies were sent: duplicates, "
        "never loss; InDoubt says so",
        "emulated",
        warns=True,
    ),
    Feature(
        Native.SEND_TRANSACTIONS,
        "transaction of sends",
        "sends are held back; commit sends them and waits for their confirmations",
        "not atomic: a failed commit may leave some sends visible and then raises InDoubt, which lists them",
        "emulated",
        warns=True,
    ),
    Feature(
        Native.SEND_TRANSACTIONS,
        "confirmation of sends in groups",
        "each send is confirmed by itself",
        'no gain in speed from send_confirmation = "group"',
        "emulated",
        called=SEND_GROUPS,
    ),
    Feature(
        Native.TOPIC_SELECTORS,
        "selector on a topic subscription",
        "the client filters on arrival and accepts what does not match",
        "traffic and backlog of messages that do not match",
        "emulated",
    ),
    Feature(
        Native.QUEUE_SELECTORS,
        "selector on a queue",
        "messages that do not match are buffered, and requeued after a while",
        "other consumers do not see them meanwhile, and get them later out of order and marked redelivered; a match "
        "behind emulation_limit other messages is not found",
        "emulated",
        warns=True,
        needs=Native.UNLIMITED_REQUEUE | Native.RETURN,
    ),
    Feature(
        Native.BROWSE,
        "queue browser",
        "messages are received, and all requeued at once",
        "other consumers do not see them meanwhile, and get them marked redelivered; at most emulation_limit messages "
        "are shown",
        "emulated",
        warns=True,
        needs=Native.UNLIMITED_REQUEUE,
    ),
    Feature(Native.DURABLE, "durable subscription", None, "messages are lost while the consumer is away", "refused"),
    Feature(Native.SHARED, "shared subscription", None, "processes cannot share", "refused"),
    Feature(Native.SHARED_DURABLE, "shared durable subscription", None, "processes cannot share", "refused"),
    Feature(
        Native.CLIENT_ID,
        "unique client id",
        "checked within the process",
        "two processes may use the same id",
        "emulated",
        warns=True,
    ),
    Feature(
        Native.EXCLUSIVE_DURABLE,
        "exclusive durable subscription",
        "checked within the process",
        "two processes may consume the same subscription",
        "emulated",
        warns=True,
    ),
    Feature(
        Native.GROUPS,
        "message groups",
        "JMSXGroupID is sent as a property",
        "several consumers may get messages of one group",
        "refused",
        warns=True,
    ),
    Feature(
        Native.TEMPORARY,
        "temporary destination",
        "unique name, deleted on close where the broker lets clients do that",
        "remains after a crash, and where it cannot be deleted",
        "emulated",
    ),
    Feature(
        Native.DELAY,
        "delivery delay",
        "the message waits in the process until it is due",
        "send returns before the message is sent, and its completion comes later; it is lost with the process, or if "
        "close_timeout ends first",
        "refused",
    ),
    Feature(Native.PRIORITY, "priority", "arrived messages are ordered", "only among arrived messages", "emulated"),
    Feature(Native.EXPIRY, "expiry", "dropped on arrival", "the broker stores them until then", "emulated"),
    Feature(
        Native.DELIVERY_COUNT, "delivery count", "counted locally, at least 2 when redelivered", "inexact", "emulated"
    ),
    Feature(Native.SETTLE_CONFIRM, "confirmed settlement", None, "an acknowledgement may be lost unnoticed", "refused"),
    Feature(Native.DUPLICATE_DETECTION, "duplicate detection", None, "a message sent again arrives again", "refused"),
    Feature(
        Native.DRAIN,
        "receive without waiting",
        "a short wait",
        "a receive that does not wait may miss a message that arrives after that wait",
        "emulated",
    ),
    Feature(
        Native.CREDIT, "exact credit", "the broker's prefetch", "a bounded number of additional messages", "emulated"
    ),
    Feature(
        Native.RETURN,
        "return while the consumer is open",
        "messages return with the end of the consumer",
        "a message returns when its closed consumer has no unacknowledged ones left",
        "emulated",
    ),
    Feature(
        Native.FAIL,
        "mark of failed messages",
        "the connection remembers what it returned, to mark and count it when it gets it again",
        "other connections get it unmarked",
        "emulated",
    ),
    Feature(
        Native.RELEASE,
        "release without counting",
        "requeued as failed",
        "messages that no consumer saw are marked redelivered",
        "emulated",
    ),
    Feature(
        Native.REJECT,
        "dead-letter queue",
        "redelivered every 30 seconds",
        "a message that always fails is never moved away",
        "emulated",
        warns=True,
    ),
    Feature(Native.NO_LOCAL, "no_local", None, "own messages come back", "refused"),
    Feature(Native.TYPED_PROPERTIES, "typed properties", None, "types are lost", "refused"),
    Feature(Native.BODY_KINDS, "body kinds", None, "kinds are lost", "refused"),
)
