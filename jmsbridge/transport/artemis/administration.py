"""The SPI's Admin by Artemis's management messages, for the links of every protocol that carries them."""

import json
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Final

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressInUse,
    AddressRefused,
    DestinationInfo,
    NotSupported,
    SendRefused,
)
from jmsbridge.transport.artemis import operations
from jmsbridge.transport.artemis.operations import Reply, Request
from jmsbridge.transport.network.link_life import Done, LinkLife

__all__ = ["ArtemisAdmin"]

_PATIENCE: Final = 120.0
"""Seconds within which the broker must carry out an operation; emptying a long queue takes its time."""
_AT_ONCE: Final = 500
"""How many messages Artemis removes or moves in one step."""
_LISTS_AGAIN: Final = 10.0
"""Seconds in which Artemis is asked again for a list; it fails when a queue of the list is deleted meanwhile."""


class ArtemisAdmin(ABC):
    """The verbs of the SPI's Admin; a link extends it with what its protocol needs. Any thread."""

    broker: str
    dead_letters: Address | None = None
    """Where rejected messages go."""
    _life: LinkLife

    @abstractmethod
    def _check_administration(self) -> None:
        """NotSupported if this broker has no administration over this protocol; LinkLost."""

    @abstractmethod
    def _check_name(self, address: Address) -> None:
        """AddressRefused for a name that the broker would not take literally."""

    @abstractmethod
    def _filter(self, selector: str) -> str:
        """The selector as Artemis evaluates it on the messages in a queue."""

    @abstractmethod
    def _request(self, requests: list[Request], patience: float, done: Done) -> None:
        """Send requests; ``done`` gets the replies, in the same order, or the error. I/O thread."""

    @property
    @abstractmethod
    def _client_id(self) -> str | None:
        """The link's client id."""

    def list_destinations(self) -> list[DestinationInfo]:
        """All queues, topics and subscriptions; the oldest message is the first one in the order of delivery."""
        what = "listing destinations"
        replies = self._listed(operations.EVERYTHING, what)
        queues, addresses = (operations.rows(operations.result(reply, what)) for reply in replies)
        queues = [each for each in queues if each["name"] != replies[0].queue]
        names = [each["name"] for each in queues if int(each["messageCount"])]
        asked = [operations.operation(f"queue.{name}", "getFirstMessageTimestamp") for name in names]
        oldest: dict[str, int] = {}
        for name, reply in zip(names, self._replies(asked, what) if asked else (), strict=True):
            try:
                oldest[name] = int(operations.result(reply, name) or 0)
            except AddressRefused:
                continue  # deleted meanwhile
        return operations.destinations(queues, addresses, oldest, self._client_id)

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 if it does not exist."""
        queue = self._queue(address)
        return 0 if queue is None else int(queue["messageCount"])

    def create(self, address: Address) -> None:
        """Create a queue or topic, which stays until it is removed; does nothing when it exists."""
        self._check_administration()
        self._check_name(address)
        what, name = f"creating {address}", address.name
        if not address.topic:
            made = {"name": name, "address": name, "routing-type": "ANYCAST", "durable": True, "auto-delete": False}
            self._ask([operations.operation("broker", "createQueue", json.dumps(made), True)], what)
            return
        try:
            self._ask([operations.operation("broker", "createAddress", name, "MULTICAST")], what)
        except operations.Refused as error:
            if not error.exists:
                raise
            kinds = self._ask([operations.operation(f"address.{name}", "getRoutingTypesAsJSON")], what)[0]
            if "MULTICAST" not in str(kinds):
                self._ask([operations.operation("broker", "updateAddress", name, "ANYCAST,MULTICAST")], what)

    def remove(self, address: Address) -> None:
        """Remove a queue, or a topic with its subscriptions; ``AddressInUse`` while it has consumers."""
        what = f"removing {address}"
        if not address.topic:
            self._existing(address)
            self._ask([operations.operation("broker", "destroyQueue", address.name, False, True)], what)
            return
        queues = [
            each
            for each in self._queues("address", address.name, what)
            if each["address"] == address.name and each["routingType"] == "MULTICAST"
        ]
        if any(int(each["consumerCount"]) for each in queues):
            raise AddressInUse(f"{address} has consumers; close them first")
        gone = [operations.operation("broker", "destroyQueue", each["name"], False, False) for each in queues]
        self._ask([*gone, operations.operation("broker", "deleteAddress", address.name)], what)

    def delete(self, address: Address) -> None:
        """Delete a temporary destination, which is an ordinary one; nothing if it was never used.

        NotSupported for a user who may not do that; AddressInUse while it has consumers.
        """
        what = f"deleting {address}"
        if address.topic:
            asked = operations.operation("broker", "deleteAddress", address.name)
        else:
            asked = operations.operation("broker", "destroyQueue", address.name, False, True)
        try:
            [reply] = self._replies([asked], what, self._life.endpoint.close_timeout)
        except AccessDenied as error:
            raise NotSupported(str(error)) from error
        with suppress(AddressRefused):
            operations.result(reply, what)

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the matching messages of a queue, except those delivered to a consumer; returns their number."""
        self._existing(address)
        asked = operations.operation(f"queue.{address.name}", "removeMessages", _AT_ONCE, self._chosen(selector))
        return int(self._ask([asked], f"purging {address}")[0])

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move matching messages, except those delivered to a consumer; returns their number."""
        if target.topic:
            raise NotSupported(f"{target} is a topic; messages are moved to queues")
        self._existing(source)
        if limit == 0:
            return 0
        self.create(target)
        most = -1 if limit is None else limit
        asked = operations.operation(
            f"queue.{source.name}", "moveMessages", _AT_ONCE, self._chosen(selector), target.name, False, most
        )
        return int(self._ask([asked], f"moving messages from {source} to {target}")[0])

    # -- asking

    def _existing(self, address: Address) -> dict[str, str]:
        queue = self._queue(address)
        if queue is None:
            raise AddressRefused(f"there is no {address} at {self.broker}")
        return queue

    def _queue(self, address: Address) -> dict[str, str] | None:
        """What Artemis says of a queue; None if there is none, or only a subscription whose queue has this name."""
        if address.topic:
            return None
        for queue in self._queues("name", address.name, f"looking at {address}"):
            if queue["name"] == queue["address"] == address.name and queue["routingType"] == "ANYCAST":
                return queue
        return None

    def _queues(self, field: str, value: str, what: str) -> list[dict[str, str]]:
        """What Artemis says of the queues whose ``name`` or ``address`` is the value."""
        [reply] = self._listed([operations.queues_where(field, value)], what)
        return operations.rows(operations.result(reply, what))

    def _listed(self, requests: list[Request], what: str) -> list[Reply]:
        """The replies to requests for lists."""
        replies, deadline = self._replies(requests, what), time.monotonic() + _LISTS_AGAIN
        while time.monotonic() <= deadline:
            failed = [at for at, reply in enumerate(replies) if not (reply.succeeded or operations.has_code(reply))]
            if not failed:
                break
            for at, reply in zip(failed, self._replies([requests[at] for at in failed], what), strict=True):
                replies[at] = reply
        return replies

    def _ask(self, requests: list[Request], what: str) -> list[Any]:
        """What the operations returned, or the first error."""
        return [operations.result(reply, what) for reply in self._replies(requests, what)]

    def _replies(self, requests: list[Request], what: str, patience: float | None = None) -> list[Reply]:
        self._check_administration()
        patience = _PATIENCE if patience is None else patience
        try:
            replies: list[Reply] = self._life.wait(
                lambda done: self._request(requests, patience, done), what, patience=patience + 5
            )
            return replies
        except (AccessDenied, AddressRefused, SendRefused) as error:
            raise AccessDenied(
                f"{what}: {error}. Artemis is administered by messages to {operations.ADDRESS}: the user needs the "
                "permission 'manage' for it, and those to create and consume a queue for the answers (broker.xml)"
            ) from error

    def _chosen(self, selector: str | None) -> str:
        return "" if selector is None else self._filter(selector)
