"""What kind a queue is, how often a message may come back to it, and how queues are declared here.

A quorum queue counts each time that a message comes back, whether an application has seen it or not, and drops or
dead-letters it at its limit: 20 from RabbitMQ 4 on, where nothing else is said. Quorum queues that are made here get a
limit that no message reaches. No limit (``-1``) would not do: RabbitMQ 4 then puts what comes back behind everything
else instead of into its place, and RabbitMQ 3 drops it the first time.
"""

import logging
import re
from typing import Any, Final, NamedTuple

from jmsbridge_rabbitmq.control import Ask, Conversation
from jmsbridge_rabbitmq.errors import Refused

__all__ = ["UNREACHED", "Kind", "Kinds", "tell"]

log = logging.getLogger("jmsbridge.rabbitmq")

UNREACHED: Final = 1_000_000_000
"""The limit of quorum queues that are made here."""
_BY_DEFAULT: Final = 20  # RabbitMQ 4, for quorum queues that say nothing
_UNREADABLE: Final = 1  # supposed where a refusal is cut before the limit
_LIMIT: Final = "x-delivery-limit"
_TYPE: Final = "x-queue-type"
_NEVER: Final = {"x-max-age": "?"}  # not looked at where there is such a queue, and refused where there is none
_ARGUMENT = re.compile(r"inequivalent arg '([\w-]+)'")
_CURRENT = re.compile(r"current is (?:the value )?(?:'(.*?)'(?: of type '(\w+)')?|none)", re.DOTALL)
_UNSEEN: Any = object()
_MOST_KNOWN: Final = 10_000

_told: set[str] = set()  # queues with a limit, in this process: each is told of once


class Kind(NamedTuple):
    """What matters of a queue that somebody declared."""

    type: str | None
    """``classic``, ``quorum`` or ``stream``; None where that could not be found out."""
    limit: int | None = None
    """How often a message may come back; None: as often as it likes."""


class Kinds:
    """How one link declares queues, and reads those of others.

    ``stated`` is the option ``delivery_limit``: what policies say, which nobody can see over AMQP 0-9-1.
    """

    def __init__(self, queue_type: str | None, stated: int | None) -> None:
        self.queue_type = queue_type
        self._stated = stated
        self._known: dict[str, Kind] = {}
        self._limits = False  # the broker has a limit of its own for quorum queues that say nothing
        self._plain = queue_type == "classic"  # what is declared without a type is no quorum queue

    def learn(self, product: str, version: str) -> None:
        """Note which broker it is."""
        major = version.partition(".")[0]
        self._limits = product == "RabbitMQ" and major.isdigit() and int(major) >= 4

    # -- declaring

    def declare(self, queue: str, **more: Any) -> Conversation:
        """Declare a durable queue of the type that new queues have; Refused, 406, where another one is there."""
        typed = {_TYPE: self.queue_type} if self.queue_type else {}
        if self.queue_type == "quorum" or (self._limits and not self._plain):
            try:
                yield _declaration(queue, {**typed, _LIMIT: UNREACHED, **more})
                self.note(queue, Kind("quorum", self._limit(UNREACHED)))
                return
            except Refused as no:
                if no.code != 406 or "invalid arg" not in no.text or self.queue_type is not None:
                    raise
                self._plain = True  # the virtual host makes classic queues, which know no such limit
        yield _declaration(queue, {**typed, **more})

    # -- reading

    def kind_of(self, queue: str) -> Conversation:
        """The kind of a queue that exists.

        AMQP 0-9-1 has no question for it, but the refusal of other arguments names the present ones, one at a time.
        The first guess is what is declared here, so that one's own quorum queues are known without a refusal. A queue
        that is gone is not made by asking.
        """
        known = self._known.get(queue)
        if known is None:
            kind, limit = yield from _read(queue)
            known = Kind(kind, self._limit(limit) if kind in ("quorum", None) else None)
            if kind is not None:
                self.note(queue, known)
        return known

    def note(self, queue: str, kind: Kind) -> None:
        """Know it from now on."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[queue] = kind

    def forget(self, queue: str | None) -> None:
        """It may be another one now; None for all."""
        if queue is None:
            self._known.clear()
        else:
            self._known.pop(queue, None)

    def _limit(self, declared: int | None) -> int | None:
        if declared is None and self._stated is None and self._limits:
            return _BY_DEFAULT
        limits = [each for each in (declared, self._stated) if each is not None and 0 <= each < UNREACHED]
        return min(limits, default=None)


def tell(queue: str, kind: Kind, broker: str) -> None:
    """Warn of a quorum queue with a limit, once in this process."""
    if kind.type != "quorum" or kind.limit is None or queue in _told:
        return
    if len(_told) >= _MOST_KNOWN:
        _told.clear()
    _told.add(queue)
    log.warning(
        "queue %r: %s drops or dead-letters a message that came back more than %d times, whether it was seen or not"
        " (delivery-limit). Closing consumers and sessions loses none: what has come back half as often goes to the"
        " queue's end with a new count. What a killed process or a lost connection held is counted. To lift the limit,"
        " declare the queue with %s = %d, or set it by a policy (delivery-limit) and say so with the option"
        " delivery_limit",
        queue,
        broker,
        kind.limit,
        _LIMIT,
        UNREACHED,
    )


def _declaration(queue: str, arguments: dict[str, Any]) -> Ask:
    return Ask("queue_declare", {"queue": queue, "durable": True, "arguments": arguments})


def _read(queue: str) -> Conversation:
    """Type and declared limit; the type is None where it cannot be found out, for want of permission, say."""
    guesses: list[tuple[dict[str, Any], int | None]] = [
        ({_TYPE: "quorum", **_NEVER}, UNREACHED),
        ({_TYPE: "classic", **_NEVER}, None),
        ({_TYPE: "stream"}, None),
    ]
    typed, limit = guesses.pop(0)
    others: dict[str, Any] = {}
    for _ in range(20):
        try:
            yield _declaration(queue, {**others, **typed, **({_LIMIT: limit} if limit is not None else {})})
            return typed[_TYPE], limit
        except Refused as no:
            name, value = _difference(no.text)
        if name == "durable":
            return "classic", None  # only classic queues can be transient
        if name == _TYPE and value is not _UNSEEN:
            return value or "classic", None
        if name == _TYPE:
            if not guesses:
                return None, None
            typed, limit = guesses.pop(0)  # the text was cut: ask for each type in turn
        elif name == _LIMIT:
            if value is _UNSEEN and limit is None:
                return "quorum", _UNREADABLE
            limit = None if value in (None, _UNSEEN) else int(value)  # beside another number it is shown as text
        elif name is not None and value is not _UNSEEN:
            others[name] = value
        else:
            return None, None
    return None, None


def _difference(text: str) -> tuple[str | None, Any]:
    """The first argument of a queue that differs from the one asked for, and its value, where the text has room."""
    argument, current = _ARGUMENT.search(text), _CURRENT.search(text)
    value: Any = _UNSEEN
    if current is not None:
        value = current[1]
        if current[2] in ("signedint", "long", "short", "byte", "unsignedint"):
            value = int(value)
        elif current[2] == "bool":
            value = value == "true"
    return (argument[1] if argument else None), value
