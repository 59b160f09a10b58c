"""The SPI's Admin over the REST interface. Its verbs block.

A queue is a topic with the subscription of queues; every other subscription belongs to the topic of that name.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Final

import msgspec

from jmsbridge.spi import Address, AddressInUse, AddressRefused, BackendError, DestinationInfo, NotSupported
from jmsbridge_pulsar.administration.rest import EARLIEST, Rest, check_persistent, subscription_path, topic_path
from jmsbridge_pulsar.administration.topics import delete_topic, parts_of
from jmsbridge_pulsar.connection.options import PulsarOptions
from jmsbridge_pulsar.connection.partitions import whole_of
from jmsbridge_pulsar.messages.names import Names
from jmsbridge_pulsar.receiving.definitions import CLIENTS, REGISTRY, owner_of

__all__ = ["PulsarAdmin"]

_OWN: Final = (CLIENTS, REGISTRY, "__")  # beginnings of the names of topics that are no destinations


class PulsarAdmin(ABC):
    """What ``Link`` inherits. For any thread."""

    broker: str
    _options: PulsarOptions

    @abstractmethod
    def _administration(self) -> tuple[Rest, Names]:
        """The REST interface; LinkLost, or NotSupported without one."""

    @property
    def dead_letters(self) -> Address | None:
        """Where rejected messages go."""
        queue = self._options.dead_letter_queue
        return Address(queue) if queue else None

    def list_destinations(self) -> list[DestinationInfo]:
        """All queues, topics and subscriptions of the namespace."""
        rest, names = self._administration()
        found: dict[tuple[str, bool, str, str], DestinationInfo] = {}
        for topic in rest.get(f"persistent/{self._options.namespace}"):
            name = names.short(whole_of(topic))
            if not name.startswith(_OWN):
                with suppress(AddressRefused):  # it was deleted meanwhile
                    for one in self._list_one(rest, topic, name):
                        key = name, one.address.topic, one.subscription or "", one.client_id or ""
                        found[key] = _together(found[key], one) if key in found else one
        return [found[key] for key in sorted(found)]

    def _list_one(self, rest: Rest, topic: str, name: str) -> list[DestinationInfo]:
        try:
            stats = rest.get(f"{topic_path(topic)}/stats?getEarliestTimeInBacklog=true")
        except AddressRefused:
            raise
        except BackendError:  # a name that the interface does not take
            return []
        subscriptions: dict[str, Any] = stats["subscriptions"]
        queue = self._options.queue_subscription
        found = [
            self._info(rest, topic, Address(name, one != queue), one, state) for one, state in subscriptions.items()
        ]
        if queue not in subscriptions:
            found.append(DestinationInfo(address=Address(name, True), depth=0, consumers=0))
        return found

    def _info(self, rest: Rest, topic: str, address: Address, subscription: str, state: Any) -> DestinationInfo:
        depth = _count(rest, topic, subscription) if state["msgBacklog"] else 0
        key, client_id = owner_of(subscription, state.get("subscriptionProperties") or {})
        return DestinationInfo(
            address=address,
            depth=depth,
            consumers=len(state["consumers"]),
            oldest=(state.get("earliestMsgPublishTimeInBacklog") or None) if depth else None,
            subscription=key if address.topic else None,
            client_id=client_id if address.topic else None,
        )

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 if it does not exist."""
        rest, names = self._administration()
        with suppress(AddressRefused):
            topics = parts_of(rest, names.topic(address))
            return sum(_count(rest, topic, self._options.queue_subscription) for topic in topics)
        return 0

    def create(self, address: Address) -> None:
        """Create a queue or topic; does nothing when it exists."""
        rest, names = self._administration()
        topic = names.topic(address)
        with suppress(AddressInUse):  # it exists
            rest.put(topic_path(topic))
        if not address.topic:
            with suppress(AddressInUse):
                rest.put(subscription_path(topic, self._options.queue_subscription), EARLIEST)

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages; ``AddressInUse`` while it has consumers."""
        rest, names = self._administration()
        self._let_go(address)
        delete_topic(rest, names.topic(address))

    @abstractmethod
    def _let_go(self, address: Address) -> None:
        """Close what this link has open on an address."""

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the messages of a queue."""
        rest, names = self._administration()
        if selector is not None:
            raise NotSupported(f"{self.broker} cannot delete only the messages that match a selector")
        queue, count = self._options.queue_subscription, 0
        for topic in parts_of(rest, names.topic(address)):
            with suppress(AddressRefused):  # it does not exist
                count += _count(rest, topic, queue)
                rest.post(f"{subscription_path(topic, queue)}/skip_all")
        return count

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Not supported: the broker moves nothing."""
        self._administration()
        raise NotSupported(f"{self.broker} cannot move messages from one queue to another ({source} to {target})")


def _together(one: DestinationInfo, other: DestinationInfo) -> DestinationInfo:
    """That of two partitions. Each consumer has a connection to each of them."""
    return msgspec.structs.replace(
        one,
        depth=(one.depth or 0) + (other.depth or 0),
        consumers=max(one.consumers or 0, other.consumers or 0),
        oldest=min(filter(None, (one.oldest, other.oldest)), default=None),
    )


def _count(rest: Rest, topic: str, subscription: str) -> int:
    """How many messages a subscription has; the broker itself counts entries."""
    check_persistent(topic)
    path = f"{subscription_path(topic, subscription)}/analyzeBacklog"
    found = rest.post(path)
    count = int(found["messages"])
    while found["aborted"]:  # it counts some thousand entries at once
        ledger, entry = map(int, found["lastMessageId"].split(":"))
        found = rest.post(path, {"ledgerId": ledger, "entryId": entry + 1, "partitionIndex": -1})
        count += int(found["messages"])
    return count
