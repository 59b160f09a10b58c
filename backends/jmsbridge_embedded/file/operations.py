"""Operations of the store's thread: a verb of the SPI, a call with a waiting caller, and an end."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, TypeVar

from jmsbridge.spi import BackendError, LinkLost, SendRefused, Ticket
from jmsbridge_embedded.file.batch import Batch, Operation

__all__ = ["SMALL", "Call", "End", "Verb"]

_log = logging.getLogger("jmsbridge.embedded")
_T = TypeVar("_T")
SMALL: Final = 64
"""Assumed bytes of an operation without a message."""


class Verb:
    """An asynchronous verb of the SPI; its ticket is answered after COMMIT.

    ``act`` returns True to continue in the next transaction. An error goes to ``failed`` if given, else to the ticket.
    """

    __slots__ = ("_act", "_failed", "_ticket", "lazy", "size", "sync")

    def __init__(
        self,
        act: Callable[[Batch], bool | None],
        ticket: Ticket | None = None,
        failed: Callable[[BackendError], None] | None = None,
        *,
        sync: bool = False,
        size: int = SMALL,
    ) -> None:
        self.sync = sync
        self.lazy = False
        self.size = size
        self._act = act
        self._ticket = ticket
        self._failed = failed

    def run(self, batch: Batch) -> None:
        """Run ``act``."""
        if self._act(batch):
            batch.again.append(self)
        elif self._ticket is not None:
            batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        """It was not done."""
        if self._failed is not None:
            self._failed(error)
        elif self._ticket is not None:
            self._ticket.fail(error)


class Call(Generic[_T]):
    """An operation that a caller waits for."""

    def __init__(self, act: Callable[[Batch], _T], *, sync: bool = False) -> None:
        self.sync = sync
        self.lazy = False
        self.size = SMALL
        self.future: Future[_T] = Future()
        self._act = act

    def run(self, batch: Batch) -> None:
        """Run ``act``, unless the caller has stopped waiting."""
        if self.future.cancelled():
            return
        result = self._act(batch)
        batch.effects.append(lambda: self._answer(result))

    def _answer(self, result: _T) -> None:
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_result(result)

    def fail(self, error: BackendError) -> None:
        """Raise the error in the waiting caller."""
        if self.future.set_running_or_notify_cancel():
            if isinstance(error, SendRefused):
                error = BackendError(str(error))
            self.future.set_exception(error)


class End(Call[None]):
    """Ends something, in memory at once, in the file perhaps later."""

    def __init__(self, act: Callable[[Batch], None], later: Callable[[Operation], None]) -> None:
        super().__init__(act)
        self._later = later
        self._failed = False

    @property
    def is_done(self) -> bool:
        """Whether the end is recorded in the file."""
        return self.future.done() and not self._failed

    def run(self, batch: Batch) -> None:
        """Run ``act``, perhaps again after it failed."""
        super().run(batch)
        batch.effects.append(self._succeed)

    def _succeed(self) -> None:
        self._failed = False

    def fail(self, error: BackendError) -> None:
        """Let the caller go on, and try again later, for example when the disk has room."""
        if not isinstance(error, LinkLost):
            self._failed = True
            _log.warning("a close is not yet recorded in the file and will be tried again: %s", error)
            self._later(self)
        self._answer(None)
