"""The messages of a queue, and where they wait."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from jmsbridge_embedded.groups import GROUP
from jmsbridge_embedded.memory.queues.backlog import Backlog, Entry
from jmsbridge_embedded.memory.queues.schedule import Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.memory.queues.takers import Taker, View
from jmsbridge_embedded.memory.queues.timetable import Timetable

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector, SelectorIndex

__all__ = ["Contents"]

_MOST_SHARED: Final = 1000


class Contents:
    """The messages of a queue; the broker's lock is held in every method.

    A waiting message is in ``main``, and also in the views of selectors that match it. A message that waits for the
    owner of its group is in the owner's ``own`` only, a delayed one in the ``timetable``. ``plain`` says that only
    ``main`` is used: no consumer has a selector, no message a group. ``size`` includes held messages.
    """

    def __init__(self, state: BrokerState, schedule: Schedule, wake: Callable[[int], None]) -> None:
        self.state = state
        self.schedule = schedule
        self.timetable = Timetable(state, schedule, wake)
        self.ended = False
        self.plain = True
        self.size = 0
        self.sequence = 0
        self.main = View()
        self.views: dict[str, View] = {}
        self.consumers: list[Taker] = []
        self.retired: list[Taker] = []
        self.grouped: set[Entry] = set()
        self.touched: dict[View, None] = {}
        self._index: SelectorIndex[View] | None = None
        self._shared: dict[tuple[Backlog, ...], tuple[Backlog, ...]] = {}

    def place(self, entry: Entry, views: Sequence[View] | None = None) -> None:
        """Put a waiting message into its backlogs; the caller dispatches."""
        if GROUP in entry.envelope.properties:
            self.grouped.add(entry)
            self.plain = False
        if self.plain:
            self.main.push(entry)
            return
        views = self.views_of(entry) if views is None else views
        entry.places = self.shared(tuple(views))
        for view in views:
            view.push(entry)
            self.touched[view] = None

    def shared(self, places: tuple[Backlog, ...]) -> tuple[Backlog, ...]:
        """One tuple for all messages in the same places: one per message would keep the garbage collector busy."""
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(places, places)

    def unplace(self, entry: Entry) -> None:
        """Remove a message from the backlogs in which it waited."""
        for place in entry.places or (self.main,):
            place.remove(entry)
        entry.places = None

    def ungroup(self, entries: Iterable[Entry]) -> None:
        """Forget removed messages that had groups; the queue may be ``plain`` again."""
        if self.grouped:
            self.grouped.difference_update(entries)
            if not self.grouped:
                self.plain = not self.views

    def backlogs(self) -> list[Backlog]:
        """``main``, and the backlogs of group owners."""
        return [self.main, *(consumer.own for consumer in self.consumers if consumer.own is not None)]

    # -- views ---------------------------------------------------------------------------------------------------

    def views_of(self, entry: Entry) -> list[View]:
        """The views in which the message belongs."""
        found = [self.main]
        if self._index is not None:
            found += [view for view in self._index.candidates(entry.envelope) if view.wants(entry)]
        return found

    def add_view(self, text: str, view: View, selector: "Selector") -> None:
        """Register the view of a consumer's selector."""
        from jmsbridge.selectors import SelectorIndex  # imported here: it loads the grammar

        if self._index is None:
            self._index = SelectorIndex()
        self.views[text] = view
        self._index.add(view, selector)
        self.plain = False

    def drop_view(self, view: View) -> None:
        """Remove a view, whose last consumer is gone."""
        self.views = {text: other for text, other in self.views.items() if other is not view}
        if self._index is not None:
            self._index.discard(view)
        self._shared.clear()
        self.touched.pop(view, None)
        self._discard(view)
        self.plain = not (self.views or self.grouped)

    # -- the end -------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Drop the waiting messages; held ones are dropped when they are settled."""
        self.ended = True
        held = sum(len(consumer.held) for consumer in (*self.consumers, *self.retired))
        self.state.stored -= self.size - held
        self.size = held
        for backlog in (*self.backlogs(), *self.views.values()):
            self._discard(backlog)
        for place in (self.timetable.clear(), self.grouped):
            if place:
                self.schedule.start(_emptied(place))
        self.grouped = set()

    def _discard(self, backlog: Backlog) -> None:
        """Empty a backlog that is no longer used; a large one in slices."""
        chunks, backlog.chunks = backlog.chunks, Backlog().chunks
        if len(chunks) > 1:
            self.schedule.start(_emptied(chunks))


def _emptied(place: list[Any] | set[Entry]) -> Iterator[None]:
    """A job that frees unused entries in slices."""
    while place:
        place.pop()
        yield
