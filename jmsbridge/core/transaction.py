"""The current transaction of a transacted session: the broker's own, or one that the client holds together.

Both end with ``commit`` or ``rollback`` and are then the next transaction (rule TX-1).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from jmsbridge.core.inbox import Delivery
from jmsbridge.core.ticket import Waiter
from jmsbridge.core.unsettled import settle_all
from jmsbridge.errors import InDoubtException
from jmsbridge.message import message_from_arrival
from jmsbridge.spi import BackendError, Channel, Envelope, LinkLost, Outcome, Ticket, TransactionRolledBack

__all__ = ["Buffered", "Native", "Transaction"]


class Transaction(Protocol):
    """What a session needs of its transaction; used by one thread at a time."""

    @property
    def is_busy(self) -> bool:
        """Whether anything was sent in it."""

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Add a send; the ticket is answered when it is part of the transaction."""

    def commit(self, deliveries: list[Delivery], timeout: float) -> None:
        """Make it effective. BackendError when rolled back or in doubt; the deliveries are then unsettled again."""

    def rollback(self, timeout: float) -> None:
        """Undo the sends."""


class Native:
    """A transaction of the broker: everything or nothing."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._sent = 0

    @property
    def is_busy(self) -> bool:
        """Whether anything was sent in it."""
        return self._sent > 0

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Send in the transaction."""
        self._sent += 1
        self._channel.send(envelope, ticket)

    def commit(self, deliveries: list[Delivery], timeout: float) -> None:
        """Settle what was consumed as part of the transaction, then commit it."""
        self._sent = 0
        with _still_held(deliveries):
            if not settle_all(deliveries, Outcome.ACCEPTED):
                raise TransactionRolledBack("the connection was lost during the transaction")
            waiter = Waiter()
            self._channel.commit(waiter)
            waiter.wait_answer(timeout, "a commit")

    def rollback(self, timeout: float) -> None:
        """Roll the broker's transaction back; a dead link has done so already."""
        self._sent = 0
        waiter = Waiter()
        self._channel.rollback(waiter)
        try:
            waiter.wait_answer(timeout, "a rollback")
        except LinkLost:
            return


class Buffered:
    """Emulation for brokers without transactions: hold the sends, on commit send and confirm all, then acknowledge.

    A failure before anything was sent is a clean rollback; later some sends may be visible, and InDoubt lists them.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._held: list[Envelope] = []

    @property
    def is_busy(self) -> bool:
        """Whether anything was sent in it."""
        return bool(self._held)

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Hold it."""
        self._held.append(envelope)
        ticket.succeed()

    def commit(self, deliveries: list[Delivery], timeout: float) -> None:
        """Send and confirm all, then acknowledge."""
        held, self._held = self._held, []
        waiters = [(envelope, Waiter()) for envelope in held]
        for envelope, waiter in waiters:
            self._channel.send(envelope, waiter)
        deadline = time.monotonic() + timeout
        answers = [(envelope, _answer(waiter, deadline)) for envelope, waiter in waiters]
        failures = [error for _, error in answers if error is not None]
        if failures:
            _raise_failed(answers, failures[0])
        with _still_held(deliveries):
            try:
                settle_all(deliveries, Outcome.ACCEPTED, max(0.0, deadline - time.monotonic()))
            except BackendError as error:
                if not held and not error.in_doubt and len({delivery.inbox for delivery in deliveries}) == 1:
                    raise TransactionRolledBack(f"nothing was acknowledged: {error}") from error
                sent = "the commit's messages are sent, but " if held else ""
                raise InDoubtException(
                    f"{sent}acknowledging failed ({error}): what was consumed may return",
                    sent=[message_from_arrival(envelope, False, 0, None) for envelope in held],
                ) from error

    def rollback(self, timeout: float) -> None:
        """Forget the sends."""
        self._held = []


@contextmanager
def _still_held(deliveries: list[Delivery]) -> Iterator[None]:
    """Count these as held until the end: a closed consumer's subscription must outlive a commit that fails."""
    for delivery in deliveries:
        delivery.inbox.reopen(1)
    yield
    for delivery in deliveries:
        delivery.inbox.forget(1)


def _answer(waiter: Waiter, deadline: float) -> BackendError | None:
    try:
        waiter.wait_answer(max(0.0, deadline - time.monotonic()), "a send of a commit")
    except BackendError as error:
        return error
    return None


def _raise_failed(answers: list[tuple[Envelope, BackendError | None]], first: BackendError) -> None:
    messages = [(message_from_arrival(envelope, False, 0, None), error) for envelope, error in answers]
    sent = [message for message, error in messages if error is None]
    refused = [message for message, error in messages if error is not None and not error.in_doubt]
    unknown = [message for message, error in messages if error is not None and error.in_doubt]
    if not sent and not unknown:
        raise TransactionRolledBack(f"the broker refused the first send of the commit: {first}") from first
    raise InDoubtException(
        f"the commit failed half-way ({first}): {len(sent)} of {len(messages)} messages are visible; "
        "nothing was acknowledged, so what was consumed will be delivered again",
        sent=sent,
        refused=refused,
        unknown=unknown,
    ) from first
