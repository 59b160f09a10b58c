"""The life of everything that can be closed: open, closing, closed; never back."""

from enum import Enum, auto

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet

__all__ = ["CloseState", "State"]


class State(Enum):
    """Where an object is in its life."""

    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class CloseState:
    """One object's state. The first closer closes, later ones wait until it is done."""

    __slots__ = ("_changed", "_lock", "state")

    def __init__(self, rank: Rank) -> None:
        self._lock = ranked(rank)  # guards state
        self._changed = WaitSet()
        self.state = State.OPEN

    def wait_begin_close(self, *, wait: bool = True) -> bool:
        """Whether the caller is to close; if not, returns when the first closer is done, at once without ``wait``."""
        with self._lock:
            if self.state is State.OPEN:
                self.state = State.CLOSING
                return True
        if wait:
            self._changed.wait_for(lambda: self.state is State.CLOSED, None)
        return False

    def end_close(self) -> None:
        """Closing is done."""
        with self._lock:
            self.state = State.CLOSED
        self._changed.notify()
