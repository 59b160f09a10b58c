"""PERSISTENT_GROUPACK: persistent sends that wait for confirmation once per group.

Every message asks for its own confirmation, so that refusals are noticed and the unconfirmed messages are known
exactly; only the waiting is per group. See ``docs/decisions/groupack.md``.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import AnswerMissing, OneAnswer, WaitSet
from jmsbridge.core.translate import translate
from jmsbridge.errors import InDoubtException
from jmsbridge.message import message_from_arrival
from jmsbridge.spi import Envelope, Ticket

__all__ = ["Group", "Member"]


class Member(OneAnswer):
    """One message of the current group, and its ticket.

    ``sent_with`` is the ticket that the backend has, where another one passes its answers on.
    """

    __slots__ = ("_group", "envelope", "number", "sent_with")

    def __init__(self, group: "Group", envelope: Envelope) -> None:
        self._group = group
        self.number = 0
        self.envelope = envelope
        self.sent_with: Ticket = self
        self.answered = False
        self.error = None

    def _tell(self) -> None:
        self._group.on_answer(self)

    def give_up(self) -> None:
        """The call that sent it was interrupted: it is in doubt."""
        self.fail(AnswerMissing("the send was interrupted; its outcome is unknown", in_doubt=True))


class Group:
    """One producer's group-acknowledged sends. Used by the session's thread; answers come from any thread.

    ``cancel`` cancels sends that were not written yet.
    """

    def __init__(self, timeout: float, cancel: Callable[[Sequence[Ticket]], None]) -> None:
        self._timeout = timeout
        self._cancel = cancel
        self.is_full = False
        """Whether the last message completes its group: the sender then waits."""
        self._changed = WaitSet()
        self._lock = ranked(Rank.LEAF)  # guards the fields below
        self._open: dict[int, Member] = {}
        self._failed: list[Member] = []
        self._told = True  # whether the failures were raised
        self._sent = 0

    def enter(self, member: Member, threshold: int) -> None:
        """Add a message. If earlier sends of the group failed, raises InDoubt, once."""
        self._raise_failed()
        with self._lock:
            if self._told:
                self._failed = []
            self._sent += 1
            member.number = self._sent
            self._open[self._sent] = member
            self.is_full = self._sent % threshold == 0

    def wait_confirmed(self, timeout: float | None = None) -> None:
        """Wait until the broker has answered for every message.

        Raises InDoubt for those that failed or have no answer within ``timeout`` seconds (None: the group's own).
        """
        patience = self._timeout if timeout is None else timeout
        if not self._changed.wait_for(lambda: not self._open, patience):
            self._give_up(patience)
        self._raise_failed()

    def _give_up(self, patience: float) -> None:
        # unanswered messages are reported once, and no longer waited for
        with self._lock:
            tickets = [member.sent_with for member in self._open.values()]
        self._cancel(tickets)
        with self._lock:
            for member in self._open.values():
                member.answered = True
                member.error = AnswerMissing(f"no answer within {patience:g} s", in_doubt=True)
                self._failed.append(member)
                self._told = False
            self._open.clear()

    def _raise_failed(self) -> None:
        with self._lock:
            if self._told or not self._failed:
                return
            self._told = True
            failed = sorted(self._failed, key=attrgetter("number"))
        refused = [_message(one) for one in failed if one.error is not None and not one.error.in_doubt]
        unknown = [_message(one) for one in failed if one.error is not None and one.error.in_doubt]
        first = failed[0].error
        assert first is not None
        raise InDoubtException(
            f"{len(failed)} messages of the group are not confirmed: {first}", refused=refused, unknown=unknown
        ) from translate(first)

    def on_answer(self, member: Member) -> None:
        """The broker answered for this message."""
        with self._lock:
            if self._open.pop(member.number, None) is None:
                return  # it has just been given up
            if member.error is not None:
                self._failed.append(member)
                self._told = False
            waiting = bool(self._open)
        if not waiting:
            self._changed.notify()

    def unacknowledged(self) -> tuple[Any, ...]:
        """Copies of the messages that are not confirmed, with their message ids, in sending order."""
        with self._lock:
            return self._messages()

    def _messages(self) -> tuple[Any, ...]:
        members = sorted((*self._failed, *self._open.values()), key=attrgetter("number"))
        return tuple(_message(one) for one in members)


def _message(member: Member) -> Any:
    return message_from_arrival(member.envelope, False, 0, None)
