"""The script: what a test wants to happen, and a record of what happened."""

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from jmsbridge.spi.backend import Ticket
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.spi.errors import BackendError

__all__ = ["Call", "Question", "Script", "text_envelope"]


@dataclass(frozen=True)
class Call:
    """One verb that the facade called: on which link (1, 2, …), and with what."""

    link: int
    verb: str
    detail: Any = None


@dataclass(eq=False)
class Question:
    """A ticket that the script answers; ``effect`` is what the broker does on success."""

    link: int
    verb: str
    ticket: Ticket | None
    effect: Callable[[], None]
    detail: Any = None
    channel: Any = None
    is_written: bool = True
    _owner: "Script | None" = field(default=None, repr=False)

    def succeed(self) -> None:
        """The broker does it and answers; no effect if the question was already answered."""
        if self._take():
            self.effect()
            if self.ticket is not None:
                self.ticket.succeed()

    def fail(self, error: BackendError, *, done: bool = False) -> None:
        """Fail it; with ``done`` the broker has nevertheless done it."""
        if self._take():
            if done:
                self.effect()
            if self.ticket is not None:
                self.ticket.fail(error)

    def _take(self) -> bool:
        return self._owner is not None and self._owner.take(self)


class Script:
    """Policy per verb, open questions, and the record of calls; thread-safe."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.before: dict[str, Callable[[Call], None]] = {}
        """Called when the facade calls the verb, before its effect; may cut links or raise a BackendError."""
        self._open: list[Question] = []
        self._policy: dict[str, str] = {}
        self._changed = threading.Condition()  # guards calls, _open and _policy
        self._io: queue.SimpleQueue[Callable[[], None] | None] | None = None

    # -- called by the test --------------------------------------------------------------------------------------------

    def hold(self, *verbs: str) -> None:
        """Hold the answers of these verbs until ``release``."""
        self._set("held", verbs)

    def keep(self, *verbs: str) -> None:
        """Hold these verbs as if not written yet, so that sends can still be cancelled."""
        self._set("kept", verbs)

    def answer_later(self, *verbs: str) -> None:
        """Answer these verbs from the I/O thread."""
        self._set("io", verbs)

    def answer_inline(self, *verbs: str) -> None:
        """Answer these verbs before they return, which is the default."""
        self._set("inline", verbs)

    def _set(self, policy: str, verbs: Iterable[str]) -> None:
        with self._changed:
            self._policy.update(dict.fromkeys(verbs, policy))

    def held(self, verb: str | None = None, link: int | None = None, channel: Any = None) -> list[Question]:
        """Open questions in the order of the calls."""
        with self._changed:
            return [
                question
                for question in self._open
                if verb in (None, question.verb)
                and link in (None, question.link)
                and channel in (None, question.channel)
            ]

    def release(
        self,
        verb: str | None = None,
        count: int | None = None,
        *,
        order: Callable[[list[Question]], Iterable[Question]] = iter,
        error: BackendError | None = None,
    ) -> int:
        """Answer up to ``count`` held questions, in this ``order``, with ``error`` if given; return their number."""
        chosen = list(order(self.held(verb)))[:count]
        for question in chosen:
            question.succeed() if error is None else question.fail(error)
        return len(chosen)

    # -- inspected by the test -----------------------------------------------------------------------------------------

    def verbs(self, link: int | None = None) -> list[str]:
        """The verbs called so far, in order."""
        with self._changed:
            return [call.verb for call in self.calls if link in (None, call.link)]

    def count(self, verb: str) -> int:
        """How often a verb was called."""
        return self.verbs().count(verb)

    def wait_call(self, verb: str, count: int = 1, timeout: float = 5.0) -> Call:
        """Wait for the ``count``-th call of ``verb``; AssertionError if it is not made."""
        with self._changed:
            made = self._changed.wait_for(lambda: len(self._made(verb)) >= count, timeout)
            assert made, f"{verb} was called {len(self._made(verb))} of {count} times; calls: {self.calls[-20:]}"
            return self._made(verb)[count - 1]

    def wait_held(self, verb: str, count: int = 1, timeout: float = 5.0) -> list[Question]:
        """Wait until ``verb`` has ``count`` open questions, and return them."""
        with self._changed:
            made = self._changed.wait_for(lambda: sum(q.verb == verb for q in self._open) >= count, timeout)
            assert made, f"fewer than {count} open questions of {verb}"
        return self.held(verb)

    def _made(self, verb: str) -> list[Call]:
        return [call for call in self.calls if call.verb == verb]

    # -- called by links -----------------------------------------------------------------------------------------------

    def record(self, call: Call) -> None:
        """Keep a call and run its hook."""
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()
        hook = self.before.get(call.verb)
        if hook is not None:
            hook(call)

    def ask(self, question: Question) -> None:
        """Open a question and, unless it is held, answer it."""
        question._owner = self
        with self._changed:
            self._open.append(question)
            policy = self._policy.get(question.verb, "inline")
            question.is_written = policy != "kept"
            self._changed.notify_all()
        if policy == "inline":
            question.succeed()
        elif policy == "io":
            self.post(question.succeed)

    def take(self, question: Question) -> bool:
        """Whether the caller may answer: true only for the first one."""
        with self._changed:
            if question not in self._open:
                return False
            self._open.remove(question)
            return True

    def post(self, work: Callable[[], None]) -> None:
        """Run ``work`` on the I/O thread, which starts with its first task."""
        with self._changed:
            if self._io is None:
                self._io = queue.SimpleQueue()
                threading.Thread(target=_run, args=(self._io,), name="jmsbridge-scripted-io", daemon=True).start()
            self._io.put(work)

    def stop(self) -> None:
        """End the I/O thread after its queued tasks."""
        with self._changed:
            if self._io is not None:
                self._io.put(None)
                self._io = None


def _run(tasks: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
    while (task := tasks.get()) is not None:
        task()


def text_envelope(address: Address, text: str, **headers: Any) -> Envelope:
    """A text message as a backend passes it to the facade."""
    return Envelope(
        address=address,
        kind=BodyKind.TEXT,
        body=text,
        properties={},
        message_id=headers.pop("message_id", f"ID:scripted-{text}"),
        timestamp=headers.pop("timestamp", 1),
        **headers,
    )
