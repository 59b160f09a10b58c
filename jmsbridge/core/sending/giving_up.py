"""Gives up sends whose time-out is over: those not written yet are cancelled, the outcome of the others is unknown."""

from collections.abc import Sequence

from jmsbridge.core.plan import Plan
from jmsbridge.core.runtime.waiting import AnswerMissing, cancel
from jmsbridge.spi import BackendError, Channel, Envelope, SendCancelled, Ticket

__all__ = ["give_up", "missing"]


def give_up(channel: Channel | None, tickets: Sequence[Ticket]) -> None:
    """Give up these sends at the end of a transaction or session: every ticket is answered when this returns."""
    cancel(channel, tickets)
    for ticket in tickets:
        text = "no answer to an asynchronous send before close, commit or rollback"
        ticket.fail(AnswerMissing(text, in_doubt=True))


def missing(envelope: Envelope, timeout: float, plan: Plan | None, error: BackendError, *, alarm: bool) -> BackendError:
    """The error for a sender that has waited ``timeout`` seconds; ``error`` is the answer to its ticket."""
    if isinstance(error, SendCancelled):
        what = f"message {envelope.message_id} was not sent within {timeout:g} s (option send_timeout)"
        return SendCancelled(f"{what}: {error}")
    if not isinstance(error, AnswerMissing):
        return error
    broker = plan.broker if plan is not None else "the broker"
    why = "; it asks senders to pause, because an alarm of its memory or disk is on" if alarm else ""
    return AnswerMissing(f"{envelope.address}: {broker} gave {error}{why}", in_doubt=True)
