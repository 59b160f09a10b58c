"""Where the pump of a subscription takes its messages from: decodes them, and drops what must not be shown."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import _pulsar

from jmsbridge.spi import Arrival, Interest, Mode
from jmsbridge.transport.deliveries.expiry import is_expired, now_ms
from jmsbridge_pulsar.connection.errors import explain, result_of
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.messages.conventions import CONNECTION, FAULT
from jmsbridge_pulsar.receiving.credit import Credit
from jmsbridge_pulsar.receiving.delayed import Delayed
from jmsbridge_pulsar.receiving.delivery import Delivery, encrypted_in, envelope_of, key_of, read_text
from jmsbridge_pulsar.receiving.memory import Key, Known
from jmsbridge_pulsar.receiving.resuming import Progress
from jmsbridge_pulsar.receiving.takers import Taker

__all__ = ["Flow"]

_POLL = 0.02  # seconds for which it waits for a message; then the pump looks whether it is to stop
_SHORT = 0.004  # seconds for which it waits just after a message: a close often follows the last one
_POLLS = 2500  # in a second, of all consumers of a link: each costs 50 µs of the GIL
_LONGEST = 0.2  # as a consumer is not closed before that
_FIRST = 0.2  # seconds after opening in which the first message may still come
_NEXT = 0.05  # seconds after a message in which the next one may still come


class Flow:
    """The ``Source`` of a ``CreditPump``.

    ``open_taker`` blocks; what it raises ends the pump. ``let_go`` ends the taker if it need not stay, and says so.
    """

    def __init__(
        self,
        facts: LinkFacts,
        interest: Interest,
        known: Known | None,
        credit: Credit,
        open_taker: Callable[[], Taker],
        let_go: Callable[[], bool],
        progress: Progress | None,
    ) -> None:
        self._facts = facts
        self._interest = interest
        self._known = known
        self._marks = None if interest.mode is Mode.BROWSE else known  # what a browser sees is nobody's
        self._open = open_taker
        self._let_go = let_go
        self._credit = credit
        self._browses = interest.mode is Mode.BROWSE
        self._progress = progress
        self._counts = not interest.address.topic or interest.shared  # the broker's count of deliveries is of use
        self._taker: Taker | None = None
        self._moved_at = 0.0  # time.monotonic() of the last message, or when it was opened
        self._has_taken = False  # a message since it was opened
        self._delayed = Delayed(interest.address)
        self.unsettled: dict[Key, Delivery] = {} if progress is None else progress.unsettled
        """What the application, or the facade, has."""

    def begin(self) -> Taker:
        """Open the taker, if it is not open yet."""
        if self._taker is None:
            self._taker = self._open()
            self._has_taken = False
            self._moved_at = time.monotonic()
        return self._taker

    def settled(self, token: Delivery) -> bool:
        """The consumer does not have it any more; whether it had."""
        found = self.unsettled.pop(token.key, None)
        if found is not None and self._marks is not None:
            self._marks.let_go(found.key, found)
        return found is not None

    def forget(self, *, is_lost: bool) -> None:
        """It has ended, ``is_lost`` with its link: the taker holds threads of the library."""
        self._taker = None
        left = self.unsettled.copy()  # in one step: a close may come while the link is being lost
        if is_lost and self._marks is not None:
            self._marks.lose(left.items())
        for token in left.values():
            self.settled(token)

    # -- Source

    def fetch(self, most: int, *, wait: bool) -> Sequence[Arrival]:
        """See ``Source``."""
        taker = self.begin()
        found = self._delayed.due(most)
        taken = 0
        patience = 0.0 if found else self._poll() if wait else max(0.0, self._quiet() - time.monotonic())
        try:
            while len(found) < most and not self._delayed.is_full():
                message = taker.take(patience)
                if message is None:
                    break
                taken += 1
                arrival = self._arrival(taker, message)
                if arrival is not None:
                    found.append(arrival)
                    patience = 0.0
        except _pulsar.PulsarException as error:
            self._facts.life.check()
            raise explain(result_of(error), f"consuming {self._interest.address}", self._facts.life.broker) from error
        if taken:
            self._has_taken, self._moved_at = True, time.monotonic()
        self._credit.moved(taken, len(found), taker.waiting)
        if not found and not wait and self._credit.forget() and not self._browses and self._let_go():
            self._taker = None
        return found

    def _poll(self) -> float:
        """For how many seconds it waits, so that many idle consumers together do not take all of Python's time."""
        share = min(len(self._facts.controlled) / _POLLS, _LONGEST)
        return max(share, _SHORT, min(time.monotonic() - self._moved_at, _POLL))

    def _quiet(self) -> float:
        """The ``time.monotonic()`` after which no message is expected to be on its way."""
        quiet_at = self._moved_at + (_NEXT if self._has_taken else 0.0 if self._browses else _FIRST)
        if self._browses:
            return quiet_at
        if not self._interest.window:  # the application asks for what is there now
            return max(quiet_at, self._credit.asked_at + _FIRST)
        # with nothing unsettled the taker ends now, so that what is on its way goes to others
        return quiet_at if self.unsettled or not self._has_taken else 0.0

    def release(self, arrivals: Sequence[Arrival]) -> None:
        """See ``Source``: they return when the taker is closed."""
        for arrival in arrivals:
            self.settled(arrival.token)

    def wake(self) -> None:
        """See ``Source``: a ``fetch`` never waits long."""

    # -- messages

    def _arrival(self, taker: Taker, message: Any) -> Arrival | None:
        """The message for the facade; None if it is not to be shown, or not yet."""
        key = key_of(message)
        is_repeated = self._progress is not None and self._progress.see(key)
        if key in self.unsettled:
            return None  # the broker moved the topic and delivers what is here once more
        if self._known is not None and key in self._known.accepted:
            taker.accept(key, message)
            return None
        facts, interest = self._facts, self._interest
        properties = read_text(message.properties)
        if interest.no_local and self._is_own((properties or {}).get(CONNECTION, "")):
            taker.accept(key, message)
            return None
        envelope = envelope_of(message, key, properties, interest.address, facts.names)
        if FAULT in envelope.properties and (locked := encrypted_in(message)):
            self._credit.moved(locked - 1, 0)  # the broker counts each
        if self._browses and (is_expired(envelope) or envelope.delivery_time > now_ms()):
            return None
        count = message.redelivery_count() + 1 if self._counts else 1
        delivery = Delivery(message, key, envelope, count)
        if not self._browses:
            self.unsettled[key] = delivery
        if (self._marks is not None and self._marks.take(key, delivery)) or is_repeated:
            delivery.count = count = max(count, 2)
        arrival = Arrival(delivery, envelope, count > 1, count)
        if not self._counts and envelope.delivery_time > now_ms():
            self._delayed.add(arrival)
            return None
        return arrival

    def _is_own(self, sender: str) -> bool:
        client_id, begin = self._facts.client_id, sender.rpartition("_")[0]  # also of a link before this one
        return sender == self._facts.sender or (bool(begin) and begin == client_id)
