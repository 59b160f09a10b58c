"""The SPI's Admin over AMQP 1.0, which itself has no administration: by management messages on Artemis."""

import json
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
from jmsbridge.transport.network.link_life import Done
from jmsbridge_amqp.administration import artemis
from jmsbridge_amqp.administration.requests import Reply, Request, Requests
from jmsbridge_amqp.connection.literal_names import check_name
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.receiving.artemis_selectors import for_artemis
from jmsbridge_amqp.receiving.strict_selectors import strict

__all__ = ["AmqpAdmin"]

_PATIENCE: Final = 120.0
"""Seconds within which the broker must carry out an operation; emptying a long queue takes its time."""
_AT_ONCE: Final = 500
"""How many messages Artemis removes or moves in one step."""


class AmqpAdmin:
    """The SPI's Admin; ``Link`` extends it. Any thread."""

    _facts: LinkFacts | None

    @property
    def dead_letters(self) -> Address | None:
        """Where rejected messages go."""
        return Address(self._facts.dead_letters) if self._facts is not None and self._facts.dead_letters else None

    def list_destinations(self) -> list[DestinationInfo]:
        """All queues, topics and subscriptions; the oldest message is the first one in the order of delivery."""
        what = "listing destinations"
        replies = self._replies(artemis.EVERYTHING, what)
        queues, addresses = (artemis.rows(artemis.result(reply, what)) for reply in replies)
        queues = [each for each in queues if each["name"] != replies[0].queue]
        names = [each["name"] for each in queues if int(each["messageCount"])]
        asked = [artemis.operation(f"queue.{name}", "getFirstMessageTimestamp") for name in names]
        oldest: dict[str, int] = {}
        for name, reply in zip(names, self._replies(asked, what) if asked else (), strict=True):
            try:
                oldest[name] = int(artemis.result(reply, name) or 0)
            except AddressRefused:
                continue  # deleted meanwhile
        assert self._facts is not None
        return artemis.destinations(queues, addresses, oldest, self._facts.client_id)

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 if it does not exist."""
        queue = self._queue(address)
        return 0 if queue is None else int(queue["messageCount"])

    def create(self, address: Address) -> None:
        """Create a queue or topic, which stays until it is removed; does nothing when it exists."""
        check_name(address, self._known().product)
        what, name = f"creating {address}", address.name
        if not address.topic:
            made = {"name": name, "address": name, "routing-type": "ANYCAST", "durable": True, "auto-delete": False}
            self._ask([artemis.operation("broker", "createQueue", json.dumps(made), True)], what)
            return
        try:
            self._ask([artemis.operation("broker", "createAddress", name, "MULTICAST")], what)
        except artemis.Refused as error:
            if not error.exists:
                raise
            kinds = self._ask([artemis.operation(f"address.{name}", "getRoutingTypesAsJSON")], what)[0]
            if "MULTICAST" not in str(kinds):
                self._ask([artemis.operation("broker", "updateAddress", name, "ANYCAST,MULTICAST")], what)

    def remove(self, address: Address) -> None:
        """Remove a queue, or a topic with its subscriptions; ``AddressInUse`` while it has consumers."""
        what = f"removing {address}"
        if not address.topic:
            self._existing(address)
            self._ask([artemis.operation("broker", "destroyQueue", address.name, False, True)], what)
            return
        queues = [
            each
            for each in artemis.rows(self._ask([artemis.queues_where("address", address.name)], what)[0])
            if each["address"] == address.name and each["routingType"] == "MULTICAST"
        ]
        if any(int(each["consumerCount"]) for each in queues):
            raise AddressInUse(f"{address} has consumers; close them first")
        gone = [artemis.operation("broker", "destroyQueue", each["name"], False, False) for each in queues]
        self._ask([*gone, artemis.operation("broker", "deleteAddress", address.name)], what)

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the matching messages of a queue, except those delivered to a consumer; returns their number."""
        self._existing(address)
        asked = artemis.operation(f"queue.{address.name}", "removeMessages", _AT_ONCE, _filter(selector))
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
        asked = artemis.operation(
            f"queue.{source.name}", "moveMessages", _AT_ONCE, _filter(selector), target.name, False, most
        )
        return int(self._ask([asked], f"moving messages from {source} to {target}")[0])

    # -- asking

    def _existing(self, address: Address) -> dict[str, str]:
        queue = self._queue(address)
        if queue is None:
            raise AddressRefused(f"there is no {address} at {self._known().driver.life.broker}")
        return queue

    def _queue(self, address: Address) -> dict[str, str] | None:
        """What Artemis says of a queue; None if there is none, or only a subscription whose queue has this name."""
        if address.topic:
            return None
        answered = self._ask([artemis.queues_where("name", address.name)], f"looking at {address}")[0]
        for queue in artemis.rows(answered):
            if queue["name"] == queue["address"] == address.name and queue["routingType"] == "ANYCAST":
                return queue
        return None

    def _ask(self, requests: list[Request], what: str) -> list[Any]:
        """What the operations returned, or the first error."""
        return [artemis.result(reply, what) for reply in self._replies(requests, what)]

    def _replies(self, requests: list[Request], what: str) -> list[Reply]:
        facts = self._known()
        to = Address(facts.product.management)

        def start(done: Done) -> None:
            Requests(facts, to, requests, _PATIENCE, done)

        try:
            replies: list[Reply] = facts.driver.life.wait(start, what, patience=_PATIENCE + 5)
            return replies
        except (AccessDenied, AddressRefused, SendRefused) as error:
            raise AccessDenied(
                f"{what}: {error}. Artemis is administered by messages to {to.name}: the user needs the permission "
                "'manage' for it, and those to create and consume a queue for the answers (broker.xml)"
            ) from error

    def _known(self) -> LinkFacts:
        """The link's facts; NotSupported if this broker has no administration over AMQP 1.0."""
        facts = self._facts
        assert facts is not None
        facts.driver.life.check()
        if not facts.product.management:
            raise NotSupported(f"{facts.driver.life.broker} has no administration over AMQP 1.0; use its own console")
        return facts


def _filter(selector: str | None) -> str:
    """The selector as for a topic: the management, too, wants the header names of Artemis's core protocol."""
    return "" if selector is None else for_artemis(strict(selector), topic=True, no_local=False)
