"""The link names of durable and shared subscriptions, by which the brokers and Qpid JMS know them."""

import time
from collections import Counter
from threading import Lock

from jmsbridge.spi import Address, AddressRefused, Interest, SubscriptionRefused
from jmsbridge.transport.network.diagnosis import CLOSE_FIRST

__all__ = ["SubscriptionNames", "first_name"]


def first_name(key: str, client_id: str | None, *, durable: bool) -> str:
    """The name of the first link to a subscription."""
    if "|" in key:
        raise AddressRefused(f"a subscription over AMQP 1.0 cannot be named {key!r}: '|' ends the name")
    if durable:
        return key if client_id else f"{key}|global"
    return f"{key}|volatile1" if client_id else f"{key}|global-volatile1"


class SubscriptionNames:
    """Numbers the consumers that share a subscription, and refuses one that does not fit the others; for any thread.

    Brokers may not: Artemis closes the connection of a consumer with another topic or selector, and Qpid Broker-J takes
    the name of an unshared durable subscription from the consumer that has it.

    Artemis deletes the queue of a shared non-durable subscription a moment after it has answered the close of its last
    consumer, by name and without looking for consumers that came meanwhile: they would stay and get nothing. So none
    is made in the ``pause`` seconds after one has ended on this link.
    """

    def __init__(self, client_id: str | None, pause: float = 0.0) -> None:
        self._client_id = client_id
        self._pause = pause
        self._pauses_until = 0.0
        self._lock = Lock()  # guards what follows
        self._active: Counter[tuple[str, bool]] = Counter()
        self._made: Counter[tuple[str, bool]] = Counter()
        self._definitions: dict[tuple[str, bool], tuple[Address, str | None, bool, bool]] = {}

    def pause(self, interest: Interest) -> float:
        """For how many seconds a shared non-durable subscription must not begin yet; 0 for any other."""
        if interest.durable or not interest.shared:
            return 0.0
        return max(0.0, self._pauses_until - time.monotonic())

    def take(self, interest: Interest) -> str | None:
        """The name of the next link for this interest; None if it needs none."""
        key = interest.key
        if key is None:
            return None
        first = first_name(key, self._client_id, durable=interest.durable)
        definition = (interest.address, interest.selector, interest.no_local, interest.shared)
        with self._lock:
            if self._active[key, interest.durable]:
                self._check(key, self._definitions[key, interest.durable], definition)
            self._definitions[key, interest.durable] = definition
            self._active[key, interest.durable] += 1
            self._made[key, interest.durable] += 1
            number = self._made[key, interest.durable]
        if number == 1:
            return first
        if interest.durable:
            return f"{first}{number}" if not self._client_id else f"{first}|{number}"
        return f"{first[:-1]}{number}"

    def _check(self, key: str, there: tuple[object, ...], wanted: tuple[object, ...]) -> None:
        if there == wanted and wanted[-1]:
            return
        other = " with another topic or selector" if there[-1] and wanted[-1] else ""
        raise SubscriptionRefused(f"subscription {key!r} has a consumer{other}; {CLOSE_FIRST}")

    def is_active(self, key: str, *, durable: bool) -> bool:
        """Whether a durable or a shared subscription has a consumer on this link."""
        with self._lock:
            return self._active[key, durable] > 0

    def release(self, interest: Interest) -> None:
        """The consumer of this interest was closed."""
        if interest.key is None:
            return
        name = (interest.key, interest.durable)
        with self._lock:
            self._active[name] -= 1
            if self._active[name] <= 0:
                if not interest.durable:
                    self._pauses_until = time.monotonic() + self._pause
                for each in (self._active, self._made, self._definitions):
                    each.pop(name, None)
