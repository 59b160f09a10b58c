"""The type of a queue and its delivery limit: declared for new queues, detected for existing ones.

A quorum queue counts every requeue of a message, whether or not an application has seen it. When a message was requeued
more often than the queue's delivery limit allows, the broker drops or dead-letters it. The default limit is 20 in
RabbitMQ 4, and none in RabbitMQ 3. Quorum queues that jmsbridge creates get a limit that is never reached. With ``-1``,
no limit, RabbitMQ 4 would requeue at the tail, and RabbitMQ 3 drop the message at its first requeue.
"""

import logging
import re
from typing import Any, Final, NamedTuple

from jmsbridge_rabbitmq.broker.conversations import Ask, Conversation
from jmsbridge_rabbitmq.protocol.errors import ChannelException

__all__ = ["UNREACHED", "Kind", "QueueKinds", "warn_of_limit"]

log = logging.getLogger("jmsbridge.rabbitmq")

UNREACHED: Final = 1_000_000_000
"""The limit of quorum queues that jmsbridge creates."""
_DEFAULT: Final = 20  # RabbitMQ 4
_UNREADABLE: Final = 1  # assumed if the text of a refusal is truncated before the limit
_LIMIT: Final = "x-delivery-limit"
_TYPE: Final = "x-queue-type"
_NO_CREATION: Final = {"x-max-age": "?"}  # ignored for an existing queue; prevents that one is created
_ARGUMENT = re.compile(r"inequivalent arg '([\w-]+)'")
_CURRENT = re.compile(r"current is (?:the value )?(?:'(.*?)'(?: of type '(\w+)')?|none)", re.DOTALL)
_UNSEEN: Any = object()
_MOST: Final = 10_000

_warned: set[tuple[str, str]] = set()  # broker and queue, in this process


class Kind(NamedTuple):
    """Type and delivery limit of a queue."""

    type: str | None
    """``classic``, ``quorum`` or ``stream``; None if unknown."""
    limit: int | None = None
    """How often a message may be requeued; None: without limit."""


class QueueKinds:
    """Declares the queues of one link, and detects the kinds of existing ones.

    ``stated`` is the option ``delivery_limit``, the limit that policies set, which AMQP 0-9-1 does not show.
    """

    def __init__(self, queue_type: str | None, stated: int | None) -> None:
        self.queue_type = queue_type
        self._stated = stated
        self._known: dict[str, Kind] = {}
        self._has_default = False  # whether quorum queues without the argument have a limit
        self._classic = queue_type == "classic"  # whether queues declared without a type are known to be classic

    def learn(self, product: str, version: str) -> None:
        """Note the broker's product and version."""
        major = version.partition(".")[0]
        self._has_default = product == "RabbitMQ" and major.isdigit() and int(major) >= 4

    # -- declaring

    def declare(self, queue: str) -> Conversation:
        """Declare a durable queue; ChannelException with 406 if it exists with other arguments."""
        typed = {_TYPE: self.queue_type} if self.queue_type else {}
        if self.queue_type == "quorum" or (self._has_default and not self._classic):
            try:
                yield _declaration(queue, {**typed, _LIMIT: UNREACHED})
                self.note(queue, Kind("quorum", self._limit(UNREACHED)))
                return
            except ChannelException as no:
                if no.code != 406 or "invalid arg" not in no.text or self.queue_type is not None:
                    raise
                self._classic = True  # the virtual host's default type, for which the argument is invalid
        yield _declaration(queue, {**typed})

    # -- reading

    def kind_of(self, queue: str) -> Conversation:
        """The kind of an existing queue.

        AMQP 0-9-1 has no request for it, but the broker's refusals to declare the queue with other arguments name the
        present ones, one at a time. The first attempt has the arguments that jmsbridge declares, so that its own
        quorum queues are recognised without a refusal. The attempts do not create a queue.
        """
        known = self._known.get(queue)
        if known is None:
            kind, limit = yield from _read(queue)
            known = Kind(kind, self._limit(limit) if kind in ("quorum", None) else None)
            if kind is not None:
                self.note(queue, known)
        return known

    def note(self, queue: str, kind: Kind) -> None:
        """Remember the kind of a queue."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[queue] = kind

    def forget(self, queue: str | None) -> None:
        """Forget the kind of a queue; None for all queues."""
        if queue is None:
            self._known.clear()
        else:
            self._known.pop(queue, None)

    def _limit(self, declared: int | None) -> int | None:
        if declared is None and self._stated is None and self._has_default:
            return _DEFAULT
        limits = [each for each in (declared, self._stated) if each is not None and 0 <= each < UNREACHED]
        return min(limits, default=None)


def warn_of_limit(queue: str, kind: Kind, broker: str, where: str) -> None:
    """Log a warning for a quorum queue with a limit, once per process; ``where`` is the broker's address."""
    if kind.type != "quorum" or kind.limit is None or (where, queue) in _warned:
        return
    if len(_warned) >= _MOST:
        _warned.clear()
    _warned.add((where, queue))
    log.warning(
        "queue %r: %s drops or dead-letters a message that was requeued more than %d times, whether it was seen or"
        " not (delivery-limit). Closing consumers and sessions loses no message: after half as many requeues it is"
        " copied to the queue's tail. Killed processes and lost connections count as requeues. To raise the limit,"
        " declare the queue with %s = %d, or set a policy (delivery-limit) and the option delivery_limit",
        queue,
        broker,
        kind.limit,
        _LIMIT,
        UNREACHED,
    )


def _declaration(queue: str, arguments: dict[str, Any]) -> Ask:
    return Ask("queue_declare", {"queue": queue, "durable": True, "arguments": arguments})


def _read(queue: str) -> Conversation:
    """Type and declared limit; the type is None if it cannot be detected, for example without permission."""
    guesses: list[tuple[dict[str, Any], int | None]] = [
        ({_TYPE: "quorum", **_NO_CREATION}, UNREACHED),
        ({_TYPE: "classic", **_NO_CREATION}, None),
        ({_TYPE: "stream"}, None),
    ]
    typed, limit = guesses.pop(0)
    others: dict[str, Any] = {}
    for _ in range(20):
        try:
            yield _declaration(queue, {**others, **typed, **({_LIMIT: limit} if limit is not None else {})})
            return typed[_TYPE], limit
        except ChannelException as no:
            name, value = _difference(no.text)
        if name == "durable":
            return "classic", None  # only classic queues can be transient
        if name == _TYPE and value is not _UNSEEN:
            return value or "classic", None
        if name == _TYPE:
            if not guesses:
                return None, None
            typed, limit = guesses.pop(0)  # the text was truncated: try each type in turn
        elif name == _LIMIT:
            if value is _UNSEEN and limit is None:
                return "quorum", _UNREADABLE
            limit = None if value in (None, _UNSEEN) else int(value)  # a text, if the numbers differ
        elif name is not None and value is not _UNSEEN:
            others[name] = value
        else:
            return None, None
    return None, None


def _difference(text: str) -> tuple[str | None, Any]:
    """The first argument that differs from the declared one, and its present value, if the text is not truncated."""
    argument, current = _ARGUMENT.search(text), _CURRENT.search(text)
    value: Any = _UNSEEN
    if current is not None:
        value = current[1]
        if current[2] in ("signedint", "long", "short", "byte", "unsignedint"):
            value = int(value)
        elif current[2] == "bool":
            value = value == "true"
    return (argument[1] if argument else None), value
