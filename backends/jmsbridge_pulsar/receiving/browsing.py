"""Browsers: a reader from the first message that the queue's subscription has not settled.

The REST interface knows where that is, and which messages behind it are settled.
"""

import bisect
import re
from typing import Any, Final

import _pulsar

from jmsbridge.spi import Address, AddressRefused
from jmsbridge_pulsar.administration.rest import topic_path
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.delivery import key_of
from jmsbridge_pulsar.receiving.memory import accepted_of
from jmsbridge_pulsar.receiving.opening import open_reader
from jmsbridge_pulsar.receiving.takers import ReaderTaker, Taker

__all__ = ["open_browser"]

_PATIENCE: Final = 5000  # milliseconds for a message that is there
_RANGE: Final = re.compile(r"([(\[])(\d+):(-?\d+)\.\.(\d+):(-?\d+)([)\]])")

_Position = tuple[int, int]


class _Browser(ReaderTaker):
    """Ends with the last message there was."""

    def __init__(self, facts: LinkFacts, address: Address, reader: Any, settled: "_Settled") -> None:
        super().__init__(reader, lambda: None)
        self._settled = settled
        name = facts.options.queue_subscription
        self._accepted = accepted_of(str(facts.life.endpoint), facts.names.topic(address), name)

    def take(self, seconds: float) -> Any:
        """See ``Taker``; without more messages it does not wait."""
        while self._reader.has_message_available():
            message = self._reader.read_next(_PATIENCE)
            key = key_of(message)
            if (key[0], key[1]) not in self._settled and key not in self._accepted:
                return message
        return None


class _Settled:
    """The ranges of settled entries, as the broker lists them: the first end is not in a range, the second is."""

    def __init__(self, text: str) -> None:
        found = _RANGE.findall(text)
        self._begins: list[_Position] = [(int(part[1]), int(part[2])) for part in found]
        self._ends: list[_Position] = [(int(part[3]), int(part[4])) for part in found]

    def __contains__(self, position: _Position) -> bool:
        at = bisect.bisect_left(self._begins, position) - 1
        return at >= 0 and position <= self._ends[at]


def open_browser(facts: LinkFacts, address: Address, window: int) -> Taker:
    """Open one; blocks."""
    rest = facts.rest
    assert rest is not None
    facts.life.wait(lambda done: facts.make_queue(address, done), f"browsing {address}")
    topic = facts.names.topic(address)
    stats = rest.get(f"{topic_path(topic)}/internalStats")
    cursor = stats["cursors"].get(facts.options.queue_subscription)
    if cursor is None:
        raise AddressRefused(f"{address} has no subscription {facts.options.queue_subscription!r}")
    ledger, _, entry = cursor["markDeletePosition"].partition(":")
    start = _pulsar.MessageId(-1, int(ledger), int(entry), -1)
    settings = _pulsar.ReaderConfiguration()
    settings.receiver_queue_size(max(1, window))
    reader = open_reader(facts, topic, start, settings, f"browsing {address}")
    return _Browser(facts, address, reader, _Settled(cursor["individuallyDeletedMessages"]))
