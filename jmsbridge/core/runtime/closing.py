"""The states of objects with ``close``: open, closing, closed, in this order only."""

from enum import Enum, auto

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet

__all__ = ["CloseState", "State"]


class State(Enum):
    """The state of an object."""

    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class CloseState:
    """The state of one object. The first caller of close does the work, later ones wait until it is done."""

    __slots__ = ("_changed", "_lock", "state")

    def __init__(self, rank: Rank) -> None:
        self._lock = ranked(rank)  # guards state
        self._changed = WaitSet()
        self.state = State.OPEN

    def wait_begin_close(self, *, wait: bool = True) -> bool:
        """Whether the caller is the first and must do the work; otherwise, with ``wait``, waits until it is done."""
        with self._lock:
            if self.state is State.OPEN:
                self.state = State.CLOSING
                return True
        if wait:
            self._changed.wait_for(lambda: self.state is State.CLOSED, None)
        return False

    def end_close(self) -> None:
        """The object is closed."""
        with self._lock:
            self.state = State.CLOSED
        self._changed.notify()
