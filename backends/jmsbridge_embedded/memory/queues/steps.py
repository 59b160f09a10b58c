"""The steps that an interrupt must not leave half done; see ``Common``.

Each is a function that may be called again from the start: ``again`` says that it is. Its other arguments are facts
that hold afterwards, never differences. All expect the broker's lock to be held. The two that every message takes
(``kept`` for one that has to wait, ``handed``) are written out once more where they are done the first time.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from jmsbridge.spi import Arrival, Envelope
from jmsbridge_embedded.memory.queues.backlog import GONE, Entry, View

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.browser import Browser
    from jmsbridge_embedded.memory.channel import Channel
    from jmsbridge_embedded.memory.consumer import Consumer
    from jmsbridge_embedded.memory.queues.duplicates import Window
    from jmsbridge_embedded.memory.queues.queue import Queue

__all__ = [
    "accepted",
    "appeared",
    "forgotten",
    "granted",
    "handed",
    "held",
    "kept",
    "moved",
    "paused",
    "published",
    "registering",
    "shown",
]


def kept(
    again: bool,
    queue: "Queue",
    entry: Entry,
    due: int,
    size: int,
    stored: int,
    views: "Sequence[View] | None" = None,
) -> None:
    """A new message waits in a queue, or for the time when it is ``due`` there."""
    queue.size = size
    queue.common.stored = stored
    if not due:
        queue.place(entry, views)
    elif not (again and any(item[2] is entry for item in queue.delayed)):
        heappush(queue.delayed, (due, entry.key, entry))
    queue.watch(entry)


def published(
    again: bool,
    copies: "Sequence[tuple[Queue, Entry, int, int]]",
    stored: int,
    window: "Window | None",
    duplicate_id: str | None,
    bound: int,
) -> None:
    """Copies of a message wait in queues, each with its due time and the queue's size, and its id is remembered."""
    for queue, entry, due, size in copies:
        kept(again, queue, entry, due, size, stored)
    if window is not None and duplicate_id is not None:
        window.remember(duplicate_id, bound)


def registering(again: bool) -> None:
    """A queue or topic may have been made of which nobody made use: ``mend`` forgets it."""


def held(again: bool, channel: "Channel", envelope: Envelope, count: int, stored: int) -> None:
    """A message waits for its transaction to be committed."""
    if len(channel.sends) < count:
        channel.sends.append(envelope)
    channel.broker.common.stored = stored


def handed(
    again: bool, consumer: "Consumer", entry: Entry, arrival: Arrival, credit: int, size: int, stored: int
) -> None:
    """A consumer has a message."""
    queue = consumer.queue
    consumer.credit = credit
    queue.size = size
    queue.common.stored = stored
    if consumer.presettled:
        entry.holder = GONE
        queue.ungroup((entry,))
    else:
        entry.holder = consumer
        consumer.held.add(entry)
    queue.unplace(entry)
    consumer.put_again(arrival)


def accepted(again: bool, consumer: "Consumer", entries: Sequence[Entry], size: int, stored: int) -> None:
    """Messages that a consumer held are done with."""
    for entry in entries:
        entry.holder = GONE
    consumer.held.difference_update(entries)
    queue = consumer.queue
    queue.size = size
    queue.common.stored = stored
    queue.ungroup(entries)


def forgotten(again: bool, queue: "Queue", entries: Sequence[Entry], size: int, stored: int) -> None:
    """Messages that nobody holds, given in order, are gone."""
    for entry in entries:
        entry.holder = GONE
    queue.size = size
    queue.common.stored = stored
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
    again: bool, queue: "Queue", entry: Entry, size: int, target: "Queue", made: Entry, target_size: int, stored: int
) -> None:
    """A message that nobody holds has left its queue for another one, in another form."""
    kept(again, target, made, 0, target_size, stored)
    forgotten(again, queue, (entry,), size, stored)


def appeared(again: bool, queue: "Queue", item: tuple[int, int, Entry], key: int) -> None:
    """A delayed message takes its place behind those that are there."""
    entry = item[2]
    entry.key = key
    queue.place(entry)
    if queue.delayed and queue.delayed[0] is item:
        heappop(queue.delayed)
    queue.watch(entry)


def granted(again: bool, consumer: "Consumer", credit: int) -> None:
    """A consumer has credit; ``mend`` sees that it is in its ring."""
    if not again and not consumer.credit:
        consumer.view.ring.append(consumer)
    consumer.credit = credit


def paused(again: bool, consumer: "Consumer") -> None:
    """A consumer has no credit any more; ``mend`` sees that it is in no ring."""
    if not again:
        consumer.view.ring.remove(consumer)
    consumer.credit = 0


def shown(again: bool, browser: "Browser", arrival: Arrival, credit: int, left: int) -> None:
    """A browser has shown a message."""
    browser.credit = credit
    if again:
        browser.put_again(arrival)
    else:
        browser.put(arrival)
    if len(browser.page) > left:
        browser.page.popleft()
