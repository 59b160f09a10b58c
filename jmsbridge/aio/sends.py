"""One send of a task: in line, in flight, answered."""

import asyncio
import contextvars
import time
from typing import Any

from jmsbridge.aio.line import Line
from jmsbridge.core.runtime.waiting import AnswerMissing
from jmsbridge.core.sending.tickets import Awaited, AwaitedSend, NotNow
from jmsbridge.core.translate import translate
from jmsbridge.errors import InDoubt, InDoubtException
from jmsbridge.producer import MessageProducer
from jmsbridge.spi import BackendError, LinkLost

__all__ = ["Send", "in_doubt"]

_GOES_ON = (
    "the send was cancelled before its answer came: it goes on, and a failure is reported to the exception listener "
    "and in failed_sends"
)
_NOT_AGAIN = "the send was cancelled after its link was lost: it is not sent again, but the broker may have the message"


class Send(Awaited):
    """One call of ``producer.send``. It ``waits`` for the broker's answer, or only until it was handed over."""

    __slots__ = (
        "_context",
        "_doubt",
        "_entry",
        "_line",
        "_lost",
        "_options",
        "_producer",
        "_waits",
        "_what",
        "ended",
        "error",
        "future",
        "gone",
        "since",
    )
    limited = True

    def __init__(
        self, line: Line, producer: MessageProducer, what: tuple[Any, ...], options: dict[str, Any], waits: bool
    ) -> None:
        self._line = line
        self._producer = producer
        self._what = what
        self._options = options
        self._waits = waits
        self._context: contextvars.Context | None = None  # of the task, for a send that is not made in it
        self._entry: AwaitedSend | None = None
        self._lost: AwaitedSend | None = None  # over an earlier link: it comes again
        self._doubt: BackendError | None = None  # because of which the broker may have it from that link
        self.ended = False
        self.error: BaseException | None = None
        self.gone = False
        self.since = time.monotonic()
        self.future: asyncio.Future[None] | None = None

    # ---- in line

    def join(self) -> None:
        """It is made later, in the context of its task."""
        self._context = contextvars.copy_context()

    def begin(self) -> None:
        """Hand it over; NotNow if that would have to wait."""
        core = self._line.core
        outgoing = core.outgoing
        if not self._line.may_send():
            outgoing.channel.check_up()
            raise NotNow
        try:
            if self._lost is not None:
                core.send_again(self._producer._settings, self._lost)
            elif self._context is None:
                self._send()
            else:
                self._context.run(self._send)
        except NotNow:
            core.calls.under_way = False  # nothing was begun that the next call would have to complete
            raise
        if not self._waits:
            self._end(None)

    def _send(self) -> None:
        send: Any = self._producer.send
        send(*self._what, completion_listener=self, **self._options)

    def on_entered(self, entry: AwaitedSend) -> None:
        """It is in flight."""
        self._entry = entry
        if not self._line.is_audited:
            self._line.expect_answer()

    def refuse(self, error: BaseException) -> None:
        """It was not sent, or not again."""
        if self._lost is not None and self._doubt is not None:
            doubt = translate(self._doubt, (self._target(self._lost),))
            doubt.__cause__ = error
            error = doubt
        self._end(error)

    # ---- answered, in the loop

    def on_completion(self, message: Any) -> None:
        """The broker has it."""
        self.ended = True
        future = self.future
        if future is not None and not future.done() and not self._line.port.is_closed():
            future.set_result(None)

    def on_exception(self, message: Any, error: BackendError) -> bool:
        """The broker does not have it, or it is in doubt; what never reached the broker is sent again."""
        line = self._line
        if line.port.is_closed():
            line.core.outgoing.report(message, error)
            return False
        if not self._waits or self.gone:
            if self._entry is None or self._entry.transaction is None:  # otherwise the commit says it
                line.core.outgoing.report(message, error)
            return False
        if self._comes_again(error):
            self._doubt = error if error.in_doubt else self._doubt
            self._lost, self._entry = self._entry, None
            line.add_again(self)
            return True
        if self._doubt is not None and not error.in_doubt:
            error = self._doubt
        elif isinstance(error, AnswerMissing):
            limit = line.core.connection.options.send_timeout
            text = f"no answer to a send within {limit:g} s (option send_timeout); its outcome is unknown"
            error = AnswerMissing(text, in_doubt=True)
        self._end(translate(error, (message,)))
        return False

    def _comes_again(self, error: BackendError) -> bool:
        options = self._line.core.connection.options
        lost = isinstance(error, LinkLost) and (options.resend or not error.in_doubt)
        is_up = self._line.core.outgoing.channel.down is None
        return lost and is_up and time.monotonic() - self.since < options.send_timeout

    def _end(self, error: BaseException | None) -> None:
        self.ended = True
        self.error = error
        future = self.future
        if future is None or future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    # ---- the task's side

    def expect(self) -> "asyncio.Future[None]":
        """The future of its end, or of its error; for a send that has not ended."""
        self.future = self._line.port.loop.create_future()
        return self.future

    def explain(self, cancelled: asyncio.CancelledError) -> None:
        """The task waits no more: say in its exception what has become of the message."""
        self.gone = True
        entry, text = self._entry, _GOES_ON
        if entry is None and self._doubt is not None:
            entry, text = self._lost, _NOT_AGAIN
        if entry is None:
            cancelled.add_note("the message was not sent: the send was cancelled while it waited for its turn")
            return
        if entry.answered and entry.error is None:
            cancelled.add_note(f"message {entry.message.jms_message_id} was sent: the broker has it")
            return
        doubt = InDoubtException(text, "CANCELLED", unknown=[self._target(entry)])
        cancelled.add_note(str(doubt))
        cancelled.__cause__ = doubt

    @staticmethod
    def _target(entry: AwaitedSend) -> Any:
        return entry.message if entry.foreign is None else entry.foreign


def in_doubt(error: BaseException) -> InDoubt | None:
    """What a cancelled send, or a time-out around one, left in doubt; None if nothing was.

    ``except TimeoutError as late: aio.in_doubt(late)``; its ``unknown`` is the message.
    """
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, InDoubt):
            return found
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return None
