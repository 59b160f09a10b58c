"""Asynchronous sends whose confirmation is one commit for many: ``send_confirmation = "group"``.

A group is sent and committed on a transacted channel of its own, beside the session's. What is sent while one group is
being committed is the next group, so no message waits for others to come. See ``docs/decisions/send-groups.md``.
"""

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence

from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import AnswerMissing, OneAnswer, WaitSet, cancel
from jmsbridge.core.sending.current_channel import CurrentChannel
from jmsbridge.core.sending.throttle import Throttle
from jmsbridge.errors import JMSException, ResourceAllocationException
from jmsbridge.spi import BackendError, Channel, Envelope, LinkLost, SendCancelled, Ticket

__all__ = ["GroupedSends"]

log = logging.getLogger("jmsbridge.send")

_PATIENCE = 1.0  # seconds for which a close waits for the thread of the groups
_MOST = 256  # messages of a group
_MOST_BYTES = 1 << 20  # of the bodies of a group, if it has more than one message


class _Answer(OneAnswer):
    """A ticket of the backend; ``on_answer`` is called when it is answered."""

    __slots__ = ("_on_answer",)

    def __init__(self, on_answer: Callable[[], None]) -> None:
        self._on_answer = on_answer
        self.answered = False
        self.error = None

    def _tell(self) -> None:
        self._on_answer()


class _Send(_Answer):
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


class GroupedSends:
    """The groups of one session, one after the other, on a thread of its own. Takes sends as a Channel does.

    ``session_channel`` is the session's own channel; ``open_channel`` opens a transacted one on the same link.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        timeout: float,
        throttle: Throttle,
        session_channel: CurrentChannel,
        open_channel: Callable[[], Channel],
    ) -> None:
        self._executor = SerialExecutor(f"jmsbridge-{name}-group", self._serve)
        self._clock = clock
        self._timeout = timeout
        self._throttle = throttle
        self._session_channel = session_channel
        self._open_channel = open_channel
        self._changed = WaitSet()  # the thread of the groups while it waits for answers, senders that wait for it
        self._lock = ranked(Rank.LEAF)  # guards what follows; appending to a queue needs no lock
        self._queue: deque[_Send] = deque()
        self._group: list[_Send] = []  # being sent or committed
        self._channel: Channel | None = None  # written by the thread of the groups
        self._closed = False
        self._is_singly = False  # whether the group was rolled back and is being sent again
        self._awaited: _Answer | None = None  # what the thread of the groups waits for

    # ---- the session's side

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Send it in the next group; the ticket is answered after the broker's answer to the commit."""
        self._queue.append(_Send(envelope, ticket, self._answered))
        self._executor.wake()

    def wait_flushed(self) -> None:
        """Wait until all sends so far have their outcome, so that the next one comes after them (rule OR-2)."""
        if self._is_idle():
            return
        self._executor.wake()  # in case an interrupted call did not
        if not self._changed.wait_for(self._is_idle, self._timeout):
            raise ResourceAllocationException(
                "the message was not sent: asynchronous sends before it have had no answer from the broker for "
                f"{self._timeout:g} s (option send_timeout)"
            )

    def _is_idle(self) -> bool:
        with self._lock:
            return not (self._queue or self._group)

    def cancel(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Cancel those of the sends that are in no group yet; return the tickets of the others, which the backend has.

        Those in a group that is not committed are not sent again.
        """
        wanted = set(tickets)
        with self._lock:
            waiting = [one for one in list(self._queue) if one.ticket in wanted]
            for one in waiting:
                self._queue.remove(one)
            for one in self._group:
                one.given_up = one.given_up or one.ticket in wanted
            singly: dict[Ticket, Ticket] = {one.ticket: one for one in self._group} if self._is_singly else {}
        self._changed.notify()
        for one in waiting:
            where = one.envelope.address
            text = f"{where}: the message was not sent, because the sends before it took long, or there was no link"
            one.ticket.fail(SendCancelled(text))
        cancelled = {one.ticket for one in waiting}
        return [singly.get(ticket, ticket) for ticket in tickets if ticket not in cancelled]

    def wait_close(self, timeout: float) -> None:
        """Wait ``timeout`` seconds for outcomes, then cancel the rest, end the thread and close its channel."""
        self._changed.wait_for(self._is_idle, timeout)
        self._closed = True
        self.cancel([one.ticket for one in list(self._queue)])
        if self._session_channel.now is None:  # the thread may wait for a link
            self._session_channel.shut(JMSException("the session is closed"))
        self._executor.close()
        self._executor.wait_idle(_PATIENCE)
        self._leave_channel()

    # ---- the groups, on their own thread

    def _serve(self) -> None:
        while self._queue and not self._closed:
            problem = self._wait_link()
            group = self._next_group()
            try:
                if problem is not None:
                    _tell_all(group, problem)
                elif group:
                    self._deliver(group)
            except Exception as error:  # a mistake in a backend
                log.exception("unexpected error while a group of %d messages was sent", len(group))
                self._leave_channel()
                _tell_doubt(group, BackendError(f"unexpected error while sending: {error}", in_doubt=True))
            with self._lock:
                self._group = []
            self._changed.notify()

    def _next_group(self) -> list[_Send]:
        size, ids = 0, set[str | None]()
        with self._lock:
            self._is_singly = False
            while self._queue and len(self._group) < _MOST and not self._closed:
                envelope = self._queue[0].envelope
                size += _size(envelope)
                # some brokers detect no duplicates within a transaction
                if self._group and (size > _MOST_BYTES or envelope.duplicate_id in ids):
                    break
                if envelope.duplicate_id is not None:
                    ids.add(envelope.duplicate_id)
                self._group.append(self._queue.popleft())
            return self._group

    def _wait_link(self) -> LinkLost | None:
        """Wait for a link; why there is none, if so. What waits for it is in no group, so it can still be cancelled."""
        try:
            self._session_channel.wait_open()
        except JMSException as error:
            return _not_sent(error)
        return None

    def _deliver(self, group: list[_Send]) -> None:
        try:
            channel = self._transacted()
        except JMSException as error:
            _tell_all(group, _not_sent(error))
            return
        if channel is None:
            self._send_singly(group)
            return
        problem = self._commit(channel, group)
        if problem is None:
            for one in group:
                one.tell()
        elif problem.in_doubt:
            _tell_doubt(group, problem)
        elif isinstance(problem, SendCancelled):
            _tell_all(group, problem)
        else:
            log.info("a group of %d messages was rolled back and is sent again singly: %s", len(group), problem)
            self._roll_back()
            self._send_singly(group)

    def _transacted(self) -> Channel | None:
        """The channel of the groups; None if it cannot be opened now."""
        if self._channel is None:
            try:
                self._channel = self._open_channel()
            except BackendError as error:
                log.info("without a channel for a group its messages are confirmed singly: %s", error)
            if self._closed:
                self._leave_channel()
        return self._channel

    def _commit(self, channel: Channel, group: list[_Send]) -> BackendError | None:
        """Send and commit a group; return why it was not committed, or None. If it was, each send has its own answer.

        An error that is not in doubt says that the broker has none of the messages; SendCancelled, that the time is up.
        """
        for one in group:
            channel.send(one.envelope, one)
        commit = _Answer(self._answered)
        channel.commit(commit)
        if not self._wait((commit,)):
            cancel(channel, group)
            self._leave_channel()  # which answers the commit
            if not commit.answered:
                return AnswerMissing(f"no answer to the commit of {len(group)} messages", in_doubt=True)
            if commit.error is not None and not commit.error.in_doubt:
                return SendCancelled(f"the message was not sent within {self._timeout:g} s: {commit.error}")
        error = commit.error
        if error is None and not self._wait(group):
            missing = AnswerMissing("the broker committed a group and gave no answer to this send", in_doubt=True)
            for one in group:
                one.fail(missing)
            self._leave_channel()
        if error is not None and (error.in_doubt or isinstance(error, LinkLost)):
            self._leave_channel()
        return error

    def _roll_back(self) -> None:
        """After a refused commit, as sessions do: nothing of the group may be left for the next commit."""
        if self._channel is not None:
            answer = _Answer(self._answered)
            self._channel.rollback(answer)
            if not self._wait((answer,)) or answer.error is not None:
                self._leave_channel()

    # ---- one by one

    def _send_singly(self, group: list[_Send]) -> None:
        """Send each with its own confirmation, over the session's channel; again if a lost link did not send it."""
        deadline = self._clock.monotonic() + self._timeout
        left = group
        while left and not self._closed:
            try:
                channel = self._session_channel.wait_open()
            except JMSException as error:
                _tell_all(left, _not_sent(error))
                return
            left = self._send_over(channel, left)
            if left and not self._session_channel.wait_left(channel, max(0.0, deadline - self._clock.monotonic())):
                break
        _tell_all(left, LinkLost("the message was not sent: its group was rolled back, and no other link came in time"))

    def _send_over(self, channel: Channel, group: list[_Send]) -> list[_Send]:
        """Send these and pass their answers on; returns those that were not sent, because the link was lost."""
        sends = [_Send(one.envelope, one.ticket, self._answered) for one in group if not one.given_up]
        with self._lock:
            self._group, self._is_singly = sends, True
        for one in sends:
            channel.send(one.envelope, one)
        if not self._wait(sends):
            cancel(channel, [one for one in sends if not one.answered])
            for one in sends:
                one.fail(AnswerMissing("no answer to a send", in_doubt=True))
        again = [one for one in sends if one.was_not_sent and not one.given_up]
        for one in sends:
            if one not in again:
                one.tell()
        return again

    # ---- waiting for answers

    def _wait(self, answers: Sequence[_Answer]) -> bool:
        """Wait until these are answered; False after ``send_timeout``, or if the session is closed.

        While the broker asks senders to pause, the time does not count.
        """
        for answer in reversed(answers):  # the last one first, so that most are there when this thread wakes up
            self._awaited = answer
            while not self._changed.wait_for(self._has_awaited, self._timeout) and self._throttle.is_active:
                continue
            if not answer.answered:
                return False
        return True

    def _has_awaited(self) -> bool:
        return self._closed or self._awaited is None or self._awaited.answered

    def _answered(self) -> None:
        """A ticket was answered; called by the backend on any thread."""
        awaited = self._awaited
        if awaited is not None and awaited.answered:
            self._changed.notify()

    def _leave_channel(self) -> None:
        """Do not use the channel of the groups any more: its link or its state is lost."""
        channel, self._channel = self._channel, None
        if channel is not None:
            with contextlib.suppress(BackendError):
                channel.close()


def _not_sent(error: JMSException) -> LinkLost:
    return LinkLost(f"the message was not sent: {error}")


def _tell_all(group: Sequence[_Send], error: BackendError) -> None:
    for one in group:
        one.ticket.fail(error)


def _tell_doubt(group: Sequence[_Send], error: BackendError) -> None:
    """The commit is in doubt, and so are the sends, except those that the broker had refused before."""
    for one in group:
        one.ticket.fail(one.error if one.error is not None and not one.error.in_doubt else error)


def _size(envelope: Envelope) -> int:
    body = envelope.body
    return len(body) if isinstance(body, str | bytes) else 0
