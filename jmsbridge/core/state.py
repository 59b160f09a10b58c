"""The life of everything that can be closed: open, closing, closed; never back."""

import threading
from enum import Enum, auto

from jmsbridge.core.locks import Rank, ranked

__all__ = ["Life", "State"]


class State(Enum):
    """Where an object is in its life."""

    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class Life:
    """One object's state. The first closer closes, later ones wait until it is done."""

    __slots__ = ("_changed", "_changed_lock", "_closer", "state")

    def __init__(self, rank: Rank) -> None:
        self._changed_lock = ranked(rank)
        self._changed = threading.Condition(self._changed_lock)  # guards state
        self.state = State.OPEN
        self._closer: int | None = None  # the thread that closes

    def wait_begin_close(self, *, wait: bool = True) -> bool:
        """Whether the caller is to close; if not, returns when the first closer is done, at once without ``wait``.

        The first closer is to close again when it comes back without having been done: it was interrupted.
        """
        me = threading.get_ident()
        with self._changed_lock:
            if self.state is State.OPEN or (self.state is State.CLOSING and self._closer == me):
                self.state = State.CLOSING
                self._closer = me
                return True
            if wait:
                while self.state is not State.CLOSED:
                    self._changed.wait(1.0)
            return False

    def end_close(self) -> None:
        """Closing is done."""
        with self._changed_lock:
            self.state = State.CLOSED
            self._changed.notify_all()
