"""Changes of a queue that an interrupt must not leave half done; see ``BrokerState``.

Each function may be repeated from its start: ``again`` says that this is a repetition. Its other arguments are results,
never differences. The broker's lock is held. The two for every message (``kept`` for one that waits, ``delivered``) are
inlined, for speed, where they are first executed. Steps of a channel, a browser or a publication are in their modules.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from jmsbridge.spi import Arrival
from jmsbridge_embedded.memory.queues.backlog import GONE, Entry
from jmsbridge_embedded.memory.queues.contents import Contents
from jmsbridge_embedded.memory.queues.takers import Taker, View

__all__ = ["accepted", "appeared", "delivered", "forgotten", "granted", "kept", "moved", "paused", "registering"]


def kept(
    again: bool, queue: Contents, entry: Entry, due: int, size: int, stored: int, views: Sequence[View] | None = None
) -> None:
    """A new message waits in a queue, or until it is ``due`` there."""
    queue.size = size
    queue.state.stored = stored
    delayed = queue.timetable.delayed
    if not due:
        queue.place(entry, views)
    elif not (again and any(item[2] is entry for item in delayed)):
        heappush(delayed, (due, entry.key, entry))
    queue.timetable.watch(entry, size)


def registering(again: bool) -> None:
    """A queue or topic may have been created without being used: ``repair`` forgets it."""


def delivered(
    again: bool, queue: Contents, consumer: Taker, entry: Entry, arrival: Arrival, credit: int, size: int, stored: int
) -> None:
    """A message was delivered to a consumer."""
    consumer.credit = credit
    queue.size = size
    queue.state.stored = stored
    if consumer.presettled:
        entry.holder = GONE
        queue.ungroup((entry,))
    else:
        entry.holder = consumer
        consumer.held.add(entry)
    queue.unplace(entry)
    consumer.put_again(arrival)


def accepted(again: bool, queue: Contents, consumer: Taker, entries: Sequence[Entry], size: int, stored: int) -> None:
    """Messages that a consumer held are removed."""
    for entry in entries:
        entry.holder = GONE
    consumer.held.difference_update(entries)
    queue.size = size
    queue.state.stored = stored
    queue.ungroup(entries)


def forgotten(again: bool, queue: Contents, entries: Sequence[Entry], size: int, stored: int) -> None:
    """Messages that no consumer holds, given in order, are removed."""
    for entry in entries:
        entry.holder = GONE
    queue.size = size
    queue.state.stored = stored
    queue.ungroup(entries)
    bare = []
    for entry in entries:
        if entry.places is None:
            bare.append(entry)
        else:
            queue.unplace(entry)
    if len(bare) > 8:
        queue.main.drop(bare)
    else:
        for entry in bare:
            queue.main.remove(entry)


def moved(
    again: bool, queue: Contents, entry: Entry, size: int, target: Contents, made: Entry, target_size: int, stored: int
) -> None:
    """A message that no consumer holds has moved to another queue, as the entry ``made``."""
    kept(again, target, made, 0, target_size, stored)
    forgotten(again, queue, (entry,), size, stored)


def appeared(again: bool, queue: Contents, item: tuple[int, int, Entry], key: int) -> None:
    """A delayed message takes its place behind the waiting ones."""
    entry = item[2]
    delayed = queue.timetable.delayed
    entry.key = key
    queue.place(entry)
    if delayed and delayed[0] is item:
        heappop(delayed)
    queue.timetable.watch(entry, queue.size)


def granted(again: bool, consumer: Taker, credit: int) -> None:
    """A consumer has credit; ``repair`` puts it into its ring."""
    if not again and not consumer.credit:
        consumer.view.ring.append(consumer)
    consumer.credit = credit


def paused(again: bool, consumer: Taker) -> None:
    """A consumer has no credit any more; ``repair`` removes it from its ring."""
    if not again:
        consumer.view.ring.remove(consumer)
    consumer.credit = 0
