"""Administration of a broker's destinations, as on the command line: list, create, remove, purge, move."""

import builtins
from collections.abc import Callable
from typing import TypeVar

import msgspec

from jmsbridge.core import arguments
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.translate import translated
from jmsbridge.destinations import Destination, Queue, destination_of
from jmsbridge.errors import JMSException, UnsupportedFeatureException, unchecked
from jmsbridge.spi import Address, Admin
from jmsbridge.strict import Strict

__all__ = ["Administration", "DestinationInfo"]

T = TypeVar("T")


class DestinationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, a topic, or a durable or shared subscription of a topic.

    ``depth`` counts its messages, delayed and delivered but unsettled ones included; 0 for a topic, which stores none
    itself. ``oldest`` is the JMSTimestamp of the oldest one, in milliseconds since the epoch. ``subscription`` is the
    name of a subscription, ``client_id`` its client id.
    """

    destination: Destination
    depth: int
    consumers: int
    oldest: int | None = None
    subscription: str | None = None
    client_id: str | None = None

    @property
    def address(self) -> Address:
        """The destination as the SPI sees it."""
        return self.destination.address


class Administration(Strict):
    """Lists, creates, removes, purges and moves destinations, outside of any session or transaction. Thread-safe.

    Uses the current link of its connection, so it works again after a reconnect. Raises JMSException and subclasses,
    or their unchecked twins when it belongs to a JMSContext: UnsupportedFeature for what the broker cannot do,
    InvalidDestination for a destination that does not exist, IllegalState for one that is in use. A destination may
    also be given as an address of the SPI.
    """

    __slots__ = ("_connection", "_core", "_simplified")

    def __init__(self, core: ConnectionCore, *, simplified: bool = False, connection: object = None) -> None:
        self._core = core
        self._connection = connection  # referenced so that it is not collected, and closed, while this is in use
        self._simplified = simplified
        self._with_admin(lambda admin: None)  # raises UnsupportedFeature if the backend has no administration

    def _with_admin(self, act: Callable[[Admin], T]) -> T:
        try:
            self._core.check_open()
            link, plan, _ = self._core.wait_link()
            if not isinstance(link, Admin):
                raise UnsupportedFeatureException(
                    f"the backend of {plan.broker} offers no administration; use the broker's own tools", "admin"
                )
            with translated:
                return wait_whole(lambda: act(link))
        except JMSException as error:
            if self._simplified:
                raise unchecked(error) from error
            raise

    @property
    def dead_letters(self) -> Queue | None:
        """The queue that receives rejected messages; None if the broker has no such queue."""
        address = self._with_admin(lambda admin: admin.dead_letters)
        queue = None if address is None else destination_of(address)
        assert queue is None or isinstance(queue, Queue)
        return queue

    def list(self) -> "builtins.list[DestinationInfo]":
        """All queues, topics and subscriptions, temporary ones included, sorted by name."""
        found = [msgspec.structs.asdict(info) for info in self._with_admin(lambda admin: admin.list_destinations())]
        return [DestinationInfo(destination=destination_of(each.pop("address")), **each) for each in found]

    def depth(self, queue: Destination | Address) -> int:
        """How many messages the broker says a queue holds; 0 if the queue does not exist."""
        return self._with_admin(lambda admin: admin.depth(_address(queue)))

    def create(self, destination: Destination | Address) -> None:
        """Create a queue or topic; no error if it exists."""
        self._with_admin(lambda admin: admin.create(_address(destination)))

    def remove(self, destination: Destination | Address) -> None:
        """Remove a queue or topic with its messages; IllegalState while it has consumers."""
        self._with_admin(lambda admin: admin.remove(_address(destination)))

    def purge(self, queue: Destination | Address, selector: str | None = None) -> int:
        """Delete the matching messages that no consumer holds; returns how many were deleted."""
        return self._with_admin(lambda admin: admin.purge(_address(queue), arguments.selector(selector)))

    def move(
        self,
        source: Destination | Address,
        target: Destination | Address,
        selector: str | None = None,
        limit: int | None = None,
    ) -> int:
        """Move the matching messages that no consumer holds, in order, each one atomically; returns how many."""
        return self._with_admin(
            lambda admin: admin.move(_address(source), _address(target), arguments.selector(selector), limit)
        )

    def __repr__(self) -> str:
        return f"<Administration of {self._core.target.endpoints[0]}>"


def _address(destination: Destination | Address) -> Address:
    return destination if isinstance(destination, Address) else arguments.destination(destination).address
