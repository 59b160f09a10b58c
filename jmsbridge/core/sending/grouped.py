"""Asynchronous sends whose confirmation is one commit for many: ``send_confirmation = "group"``.

A group is sent and committed on a transacted channel of its own, beside the session's. What is sent while one group is
being committed is the next group, so no message waits for others to come. Where the backend has several channels for
groups, the next ones are sent meanwhile, but never committed before. See ``docs/decisions/send-groups.md``.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence

from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import AnswerMissing, WaitSet, cancel
from jmsbridge.core.sending.current_channel import CurrentChannel
from jmsbridge.core.sending.group_channels import FreeChannel, OpenChannels
from jmsbridge.core.sending.group_sends import (
    GroupAnswer,
    GroupSend,
    SendGroup,
    not_sent,
    size_of,
    tell_all,
    tell_doubt,
)
from jmsbridge.core.sending.throttle import Throttle
from jmsbridge.errors import JMSException, ResourceAllocationException
from jmsbridge.spi import BackendError, Channel, ChannelLost, Envelope, Link, LinkLost, SendCancelled, Ticket

__all__ = ["GroupedSends"]

log = logging.getLogger("jmsbridge.send")

_PATIENCE = 1.0  # seconds for which a close waits for the thread of the groups
# of all groups on their way; more could fill a queue, whose broker then waits for the end of these groups in vain;
# ActiveMQ Classic counts 1 KiB for each message besides its body
_MOST = 512  # messages
_MOST_BYTES = 3 << 18  # of their bodies, if a group has more than one message
_WORTH = 32  # so many waiting messages are worth a further channel


class GroupedSends:
    """The groups of one session, on a thread of its own. Takes sends as a Channel does.

    ``session_channel`` is the session's own channel; ``wait_link`` is the link of its connection.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        timeout: float,
        throttle: Throttle,
        session_channel: CurrentChannel,
        wait_link: Callable[[], Link],
    ) -> None:
        self._executor = SerialExecutor(f"jmsbridge-{name}-group", self._serve)
        self._clock = clock
        self._timeout = timeout
        self._throttle = throttle
        self._session_channel = session_channel
        self._channels = OpenChannels(wait_link)
        self._changed = WaitSet()  # the thread of the groups while it waits for answers, senders that wait for it
        self._lock = ranked(Rank.LEAF)  # guards what follows; appending to a queue needs no lock
        self._queue: deque[GroupSend] = deque()
        self._groups: deque[SendGroup] = deque()  # sent, the first of them perhaps being committed
        self._cancelled: deque[SendGroup] = deque()  # sent, and to be rolled back with their channels
        self._closed = False
        self._awaited: GroupAnswer | None = None  # what the thread of the groups waits for

    # ---- the session's side

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Send it in the next group; the ticket is answered after the broker's answer to the commit."""
        self._queue.append(GroupSend(envelope, ticket, self._answered))
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
            return not (self._queue or self._groups)

    def cancel(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Cancel those of the sends that are in no group yet; return the tickets of the others, which the backend has.

        A group behind the first, of which nothing else is left, is cancelled: it is never committed. What is in another
        group that is not committed is not sent again.
        """
        wanted = set(tickets)
        with self._lock:
            waiting = [one for one in list(self._queue) if one.ticket in wanted]
            for one in waiting:
                self._queue.remove(one)
            for group in list(self._groups)[1:]:
                if all(one.ticket in wanted for one in group.sends):
                    self._groups.remove(group)
                    self._cancelled.append(group)
                    waiting.extend(group.sends)
            for one in [each for group in self._groups for each in group.sends]:
                one.given_up = one.given_up or one.ticket in wanted
            singly: dict[Ticket, Ticket] = {
                one.ticket: one for group in self._groups if group.is_singly for one in group.sends
            }
        self._changed.notify()
        for one in waiting:
            where = one.envelope.address
            text = f"{where}: the message was not sent, because the sends before it took long, or there was no link"
            one.ticket.fail(SendCancelled(text))
        cancelled = {one.ticket for one in waiting}
        return [singly.get(ticket, ticket) for ticket in tickets if ticket not in cancelled]

    def wait_close(self, timeout: float) -> None:
        """Wait ``timeout`` seconds for outcomes, then cancel the rest, end the thread and close its channels."""
        self._changed.wait_for(self._is_idle, timeout)
        self._closed = True
        self.cancel([one.ticket for one in list(self._queue)])
        if self._session_channel.now is None:  # the thread may wait for a link
            self._session_channel.shut(JMSException("the session is closed"))
        self._executor.close()
        self._executor.wait_idle(_PATIENCE)
        self._channels.leave_all()

    # ---- the groups, on their own thread

    def _serve(self) -> None:
        while (self._queue or self._groups) and not self._closed:
            self._send_groups()
            if self._groups:
                group = self._groups[0]
                self._run(group, lambda: self._finish(group))  # noqa: B023 (called at once)
        for group in list(self._groups):  # closed: they were sent, and no commit was asked for
            tell_all(group.sends, SendCancelled("the message was not sent: its session was closed before it"))
            self._forget(group)
            self._cancelled.append(group)
        self._leave_cancelled()

    def _leave_cancelled(self) -> None:
        while self._cancelled:
            self._channels.leave(self._cancelled[0].channel)
            self._cancelled.popleft()

    def _run(self, group: SendGroup, task: Callable[[], bool]) -> None:
        """Do something with a group; forget it if that was the last, or if it fails."""
        is_over = True
        try:
            is_over = task()
        except Exception as error:  # a mistake in a backend
            log.exception("unexpected error while a group of %d messages was sent", len(group.sends))
            self._channels.leave(group.channel)
            tell_doubt(group.sends, BackendError(f"unexpected error while sending: {error}", in_doubt=True))
        if is_over:
            self._forget(group)

    def _forget(self, group: SendGroup) -> None:
        with self._lock:
            if group in self._groups:  # it may have been cancelled
                self._groups.remove(group)
        self._changed.notify()

    def _send_groups(self) -> None:
        """Send what waits: one group if none is on its way, others over the other channels if it is worth it."""
        while self._queue and not self._closed and (not self._groups or len(self._queue) >= _WORTH):
            self._leave_cancelled()
            problem = free = None
            is_first = not self._groups
            try:
                if is_first:  # what waits for a link is in no group, so it can still be cancelled
                    self._session_channel.wait_open()
                elif self._session_channel.now is None:
                    return
                free = self._free_channel()
            except JMSException as error:
                problem = not_sent(error)
            if free is None and not is_first:
                return
            group = self._next_group(free)
            if group is None:
                return
            self._run(group, lambda: self._send(group, problem))  # noqa: B023 (called at once)

    def _free_channel(self) -> FreeChannel | None:
        try:
            free = self._channels.free(self._busy())
        except BackendError as error:
            log.info("without a channel for a group its messages are confirmed singly: %s", error)
            return None
        if self._closed:
            self._channels.leave_all()
            return None
        return free

    def _next_group(self, over: FreeChannel | None) -> SendGroup | None:
        """Take what waits, up to the limits of a group; None if this channel may not have the next message."""
        size, ids = 0, set[str | None]()
        sends = list[GroupSend]()
        most = max(1, _MOST // self._channels.most)
        most_bytes = _MOST_BYTES // self._channels.most
        with self._lock:
            while self._queue and len(sends) < most and not self._closed:
                envelope = self._queue[0].envelope
                size += size_of(envelope)
                # some brokers detect no duplicates within a transaction
                if sends and (size > most_bytes or envelope.duplicate_id in ids):
                    break
                if over is not None and envelope.address.topic and not over.topics:
                    break
                if envelope.duplicate_id is not None:
                    ids.add(envelope.duplicate_id)
                sends.append(self._queue.popleft())
            if not sends:
                return None
            group = SendGroup(None if over is None else over.channel, sends)
            self._groups.append(group)
            return group

    def _send(self, group: SendGroup, problem: BackendError | None) -> bool:
        """Send a group without committing it; whether it has ended nevertheless."""
        if problem is not None:
            tell_all(group.sends, problem)
        elif group.channel is None:
            self._send_singly(group)
        else:
            for one in group.sends:
                group.channel.send(one.envelope, one)
            return False
        return True

    def _finish(self, group: SendGroup) -> bool:
        """Commit a group, and tell its sends."""
        channel = group.channel
        assert channel is not None
        problem = self._commit(channel, group.sends)
        if problem is None:
            for one in group.sends:
                one.tell()
        elif problem.in_doubt:
            tell_doubt(group.sends, problem)
        elif isinstance(problem, SendCancelled):
            tell_all(group.sends, problem)
        else:
            log.info("a group of %d messages was rolled back and is sent again singly: %s", len(group.sends), problem)
            if not isinstance(problem, LinkLost):
                self._roll_back(channel)
            self._send_singly(group)
        return True

    def _commit(self, channel: Channel, group: Sequence[GroupSend]) -> BackendError | None:
        """Commit a group; return why it was not committed, or None. If it was, each send has its own answer.

        An error that is not in doubt says that the broker has none of the messages; SendCancelled, that the time is up.
        """
        commit = GroupAnswer(self._answered)
        channel.commit(commit)
        if not self._wait((commit,)):
            cancel(channel, group)
            self._channels.leave(channel)  # which answers the commit
            if not commit.answered:
                return AnswerMissing(f"no answer to the commit of {len(group)} messages", in_doubt=True)
            if commit.error is not None and not commit.error.in_doubt:
                return SendCancelled(f"the message was not sent within {self._timeout:g} s: {commit.error}")
        error = commit.error
        if error is None and not self._wait(group):
            missing = AnswerMissing("the broker committed a group and gave no answer to this send", in_doubt=True)
            for one in group:
                one.fail(missing)
            self._channels.leave(channel)
        if error is not None and (error.in_doubt or isinstance(error, LinkLost)):
            self._channels.leave(channel)
            if isinstance(error, LinkLost) and not isinstance(error, ChannelLost):
                self._channels.leave_all(self._busy())
        return error

    def _busy(self) -> list[Channel]:
        with self._lock:
            groups = (*self._groups, *self._cancelled)
        return [group.channel for group in groups if group.channel is not None]

    def _roll_back(self, channel: Channel) -> None:
        """After a refused commit, as sessions do: nothing of the group may be left for the next commit."""
        answer = GroupAnswer(self._answered)
        channel.rollback(answer)
        if not self._wait((answer,)) or answer.error is not None:
            self._channels.leave(channel)

    # ---- one by one

    def _send_singly(self, group: SendGroup) -> None:
        """Send each with its own confirmation, over the session's channel; again if a lost link did not send it."""
        deadline = self._clock.monotonic() + self._timeout
        left = group.sends
        while left and not self._closed:
            try:
                channel = self._session_channel.wait_open()
            except JMSException as error:
                tell_all(left, not_sent(error))
                return
            left = self._send_over(channel, group, left)
            if left and not self._session_channel.wait_left(channel, max(0.0, deadline - self._clock.monotonic())):
                break
        tell_all(left, LinkLost("the message was not sent: its group was rolled back, and no other link came in time"))

    def _send_over(self, channel: Channel, group: SendGroup, left: Sequence[GroupSend]) -> list[GroupSend]:
        """Send these and pass their answers on; returns those that were not sent, because the link was lost."""
        sends = [GroupSend(one.envelope, one.ticket, self._answered) for one in left if not one.given_up]
        with self._lock:
            group.sends, group.is_singly = sends, True
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

    def _wait(self, answers: Sequence[GroupAnswer]) -> bool:
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
