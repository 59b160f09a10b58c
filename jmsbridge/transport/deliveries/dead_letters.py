"""Dead-lettering in the client: send a copy to another queue and, once it is confirmed, accept the original."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from jmsbridge.spi import (
    DEAD_LETTER_EXPIRED,
    DEAD_LETTER_NOTES,
    Address,
    BackendError,
    ChannelLost,
    Envelope,
    Interest,
    LinkLost,
    NotSupported,
    Ticket,
    dead_letter_notes,
    rejected_to,
)
from jmsbridge.transport.deliveries.copies import CopiesUnderWay
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.link_life import LinkLife

__all__ = ["PAUSE", "CopiedDeadLetters", "DeadLetterWire", "DeadLetters", "dead_letter_properties", "letter_of"]

log = logging.getLogger("jmsbridge.transport")

PAUSE = 30.0
"""Seconds after which a message that could not be moved is delivered again."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


def dead_letter_properties(
    interest: Interest, queue: str, reason: str | None, deliveries: int, home: str | None = None
) -> dict[str, Any]:
    """``dead_letter_notes`` for a message of this subscription that moves to ``queue``."""
    address, key = interest.address, interest.key
    origin = f"{address}/{key}" if address.topic and key is not None else str(address)
    return dead_letter_notes(reason, None if address == Address(queue) else origin, deliveries, now_ms(), home)


def letter_of(envelope: Envelope, queue: str, notes: dict[str, Any]) -> Envelope:
    """The copy for another queue: it has these notes instead of earlier ones, and does not expire."""
    kept = {name: value for name, value in envelope.properties.items() if name not in DEAD_LETTER_NOTES}
    return msgspec.structs.replace(
        envelope, address=Address(queue), properties=kept | notes, expiration=0, duplicate_id=None
    )


class DeadLetterWire(Protocol[T_contra]):
    """What a backend implements for ``DeadLetters``; called on the I/O thread."""

    def read(self, token: T_contra) -> tuple[Envelope, int]:
        """Return the headers and properties of a message, and its delivery count."""

    def copy_letter(
        self, queue: str, token: T_contra, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """Send a copy that does not expire, with ``notes`` among its properties; ``done`` gets the broker's answer."""

    def settle_original(self, token: T_contra, error: BackendError | None, pause: float) -> BackendError | None:
        """Accept the original, or after an error have it delivered again in ``pause`` seconds; return the error."""


class DeadLetters(Generic[T]):
    """Moves the dead letters of one subscription. For the I/O thread only.

    ``queue`` is the backend's own dead-letter queue, or None; ``home`` is the queue of a durable subscription, to which
    a dead letter can be sent again.
    """

    def __init__(
        self,
        interest: Interest,
        queue: str | None,
        home: str | None,
        broker: Callable[[], str],
        wire: DeadLetterWire[T],
    ) -> None:
        self._interest = interest
        self._queue = queue
        self._home = home
        self._broker = broker
        self._wire = wire

    def reject(self, tokens: Sequence[T], failures: int, ticket: Ticket | None) -> None:
        """Move these to the dead-letter queue; expired ones to the expiry queue, if there is one."""
        letters = [_Letter(token, *self._target(token), failures) for token in tokens]
        if all(letter.queue for letter in letters):
            self._move(letters, ticket)
        elif ticket is not None:
            ticket.fail(NotSupported(f"{self._broker()} has no dead-letter queue (option dead_letter_queue)"))

    def expire(self, token: T, queue: str) -> None:
        """Move a message that has expired."""
        self._move([_Letter(token, queue, DEAD_LETTER_EXPIRED, 0)], None)

    def _target(self, token: T) -> tuple[str, str | None]:
        queue, reason = rejected_to(self._interest, self._wire.read(token)[0], now_ms())
        return queue or self._queue or "", reason

    def _move(self, letters: "Sequence[_Letter[T]]", ticket: Ticket | None) -> None:
        """Copy them, with their reason and origin; a message that cannot be copied is delivered again later."""
        left = len(letters)
        if not left and ticket is not None:
            ticket.succeed()
        first: BackendError | None = None

        def copied(letter: _Letter[T], error: BackendError | None) -> None:
            nonlocal left, first
            left -= 1
            error = self._wire.settle_original(letter.token, error, PAUSE)
            first = first or error
            if left:
                return
            if ticket is None:
                self._log(letter.queue, first)
            elif first is None:
                ticket.succeed()
            else:
                ticket.fail(first)

        for letter in letters:
            self._wire.copy_letter(letter.queue, letter.token, self._notes(letter), partial(copied, letter))

    def _notes(self, letter: "_Letter[T]") -> dict[str, Any]:
        deliveries = self._wire.read(letter.token)[1] - 1 + letter.failures
        return dead_letter_properties(self._interest, letter.queue, letter.reason, deliveries, self._home)

    def _log(self, queue: str, error: BackendError | None) -> None:
        """Log a failure that no ticket reports; the loss of the link is reported elsewhere."""
        if error is not None and not isinstance(error, LinkLost):
            log.warning(
                "%s: a message cannot be moved to %r%s and is delivered again in %g s: %s",
                self._interest.address,
                queue,
                " (option dead_letter_queue)" if queue == self._queue else "",
                PAUSE,
                error,
            )


class CopiedDeadLetters(ABC, Generic[T]):
    """``DeadLetters`` of one subscription with ``CopiesUnderWay``, for which a close waits. For the I/O thread.

    ``queue`` is the backend's own dead-letter queue, empty for none. ``accept`` accepts an original, and returns False
    if the consumer is closed; ``return_original`` returns one whose copy failed.
    """

    def __init__(
        self,
        life: LinkLife,
        interest: Interest,
        queue: str,
        accept: Callable[[T], bool | None],
        return_original: Callable[[T], None],
    ) -> None:
        self._life = life
        self._accept = accept
        self._return_original = return_original
        self._copying = CopiesUnderWay(life)
        letters: DeadLetters[T] = DeadLetters(interest, queue or None, None, lambda: life.broker, self)
        self.reject = letters.reject
        self.expire = letters.expire
        self.when_idle = self._copying.when_idle

    @abstractmethod
    def read(self, token: T) -> tuple[Envelope, int]:
        """As ``DeadLetterWire.read``."""

    @abstractmethod
    def copy_letter(
        self, queue: str, token: T, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        """As ``DeadLetterWire.copy_letter``; the ticket for it is one of ``_copying``."""

    def settle_original(self, token: T, error: BackendError | None, pause: float) -> BackendError | None:
        """Accept the original; after an error return it in ``pause`` seconds, or when the consumer is closed."""
        if error is not None:
            self._life.thread.call_later(pause, lambda: self._return_original(token))
        elif self._accept(token) is False:
            return ChannelLost("the consumer is closed", in_doubt=True)
        return error


class _Letter(NamedTuple, Generic[T]):
    """A message to move: to which queue, why (None: it was rejected), and after how many failures in this client."""

    token: T
    queue: str
    reason: str | None
    failures: int
