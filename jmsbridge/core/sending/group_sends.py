"""The sends of a group, and what they are told. See ``grouped``."""

from collections.abc import Callable, Sequence

from jmsbridge.core.runtime.waiting import OneAnswer
from jmsbridge.errors import JMSException
from jmsbridge.spi import BackendError, Channel, Envelope, LinkLost, Ticket

__all__ = ["GroupAnswer", "GroupSend", "SendGroup", "not_sent", "size_of", "tell_all", "tell_doubt"]


class GroupAnswer(OneAnswer):
    """A ticket of the backend; ``on_answer`` is called when it is answered."""

    __slots__ = ("_on_answer",)

    def __init__(self, on_answer: Callable[[], None]) -> None:
        self._on_answer = on_answer
        self.answered = False
        self.error = None

    def _tell(self) -> None:
        self._on_answer()


class GroupSend(GroupAnswer):
    """One send, and its ticket at the backend; ``ticket`` gets the outcome.

    ``given_up`` means that the outcome was reported as unknown, so it must not be sent again.
    """

    __slots__ = ("envelope", "given_up", "ticket")

    def __init__(self, envelope: Envelope, ticket: Ticket, on_answer: Callable[[], None]) -> None:
        super().__init__(on_answer)
        self.envelope = envelope
        self.ticket = ticket
        self.given_up = False

    @property
    def was_not_sent(self) -> bool:
        """Whether the link was lost before the message was sent."""
        return isinstance(self.error, LinkLost) and not self.error.in_doubt

    def tell(self) -> None:
        """Pass the answer on."""
        if self.error is None:
            self.ticket.succeed()
        else:
            self.ticket.fail(self.error)


class SendGroup:
    """Sends that one commit confirms, and the channel that they were sent on; None if there is none."""

    __slots__ = ("channel", "is_singly", "sends")

    def __init__(self, channel: Channel | None, sends: list[GroupSend]) -> None:
        self.channel = channel
        self.sends = sends
        self.is_singly = False
        """Whether it was rolled back, and its messages are being sent again one by one."""


def not_sent(error: JMSException) -> LinkLost:
    """Why a message was certainly not sent."""
    return LinkLost(f"the message was not sent: {error}")


def tell_all(group: Sequence[GroupSend], error: BackendError) -> None:
    """None of them was sent."""
    for one in group:
        one.ticket.fail(error)


def tell_doubt(group: Sequence[GroupSend], error: BackendError) -> None:
    """The commit is in doubt, and so are the sends, except those that the broker had refused before."""
    for one in group:
        one.ticket.fail(one.error if one.error is not None and not one.error.in_doubt else error)


def size_of(envelope: Envelope) -> int:
    """How much it counts in a group."""
    body = envelope.body
    return len(body) if isinstance(body, str | bytes) else 0
