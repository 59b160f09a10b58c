"""Looking at a broker's destinations and tidying them: what the command line does, for programs."""

import builtins
from collections.abc import Callable
from typing import TypeVar

import msgspec

from jmsbridge.core import arguments
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.translate import translate
from jmsbridge.destinations import Destination, Queue, destination_of
from jmsbridge.errors import JMSException, UnsupportedFeatureException, unchecked
from jmsbridge.spi import Address, Admin, BackendError
from jmsbridge.strict import Strict

__all__ = ["Administration", "Place"]

T = TypeVar("T")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, a topic, or a durable or shared subscription of a topic.

    ``depth`` counts the messages in it, delayed and delivered but unsettled ones included; 0 for a topic, which holds
    none itself. ``oldest`` is the JMSTimestamp of the oldest one, in milliseconds since the epoch. ``subscription`` is
    the name of a subscription, ``client_id`` its client id.
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
    """The verbs of the command line, for any thread; outside of every session and transaction.

    Works on whatever link its connection has, so it goes on after a reconnect. Raises JMSException and subclasses,
    their unchecked twins where it comes from a JMSContext: UnsupportedFeature for what the broker cannot do,
    InvalidDestination for a destination that is not there, IllegalState for one that is in use. A destination may also
    be given as an address of the SPI.
    """

    __slots__ = ("_core", "_keeps", "_simplified")

    def __init__(self, core: ConnectionCore, *, simplified: bool = False, keeps: object = None) -> None:
        self._core = core
        self._keeps = keeps  # the connection, which is not closed as forgotten while this is in use
        self._simplified = simplified
        self._with_admin(lambda admin: None)  # where there is none, it shows here

    def _with_admin(self, act: Callable[[Admin], T]) -> T:
        try:
            self._core.check_open()
            link, plan, _ = self._core.wait_link()
            if not isinstance(link, Admin):
                raise UnsupportedFeatureException(f"the backend of {plan.broker} offers no administration", "admin")
            try:
                return wait_whole(lambda: act(link))
            except BackendError as error:
                raise translate(error) from error
        except JMSException as error:
            if self._simplified:
                raise unchecked(error) from error
            raise

    @property
    def dead_letters(self) -> Queue | None:
        """Where rejected messages go; None where the broker has no such queue."""
        address = self._with_admin(lambda admin: admin.dead_letters)
        queue = None if address is None else destination_of(address)
        assert queue is None or isinstance(queue, Queue)
        return queue

    def list(self) -> "builtins.list[Place]":
        """Everything that there is, temporary destinations included, sorted by name."""
        return [
            Place(
                destination=destination_of(place.address),
                depth=place.depth,
                consumers=place.consumers,
                oldest=place.oldest,
                subscription=place.subscription,
                client_id=place.client_id,
            )
            for place in self._with_admin(lambda admin: admin.places())
        ]

    def depth(self, queue: Destination | Address) -> int:
        """How many messages a queue holds, as far as the broker says; 0 where there is no such queue."""
        return self._with_admin(lambda admin: admin.depth(_address(queue)))

    def create(self, destination: Destination | Address) -> None:
        """Make a queue or topic; no error when it exists."""
        self._with_admin(lambda admin: admin.create(_address(destination)))

    def remove(self, destination: Destination | Address) -> None:
        """Remove a queue or topic with its messages; IllegalState while it has consumers."""
        self._with_admin(lambda admin: admin.remove(_address(destination)))

    def purge(self, queue: Destination | Address, selector: str | None = None) -> int:
        """Delete the messages of a queue that match and that nobody holds; how many it were."""
        return self._with_admin(lambda admin: admin.purge(_address(queue), arguments.selector(selector)))

    def move(
        self,
        source: Destination | Address,
        target: Destination | Address,
        selector: str | None = None,
        limit: int | None = None,
    ) -> int:
        """Move matching messages that nobody holds to another queue, in order, each in one step; how many it were."""
        return self._with_admin(
            lambda admin: admin.move(_address(source), _address(target), arguments.selector(selector), limit)
        )

    def __repr__(self) -> str:
        return f"<Administration of {self._core.target.endpoints[0]}>"


def _address(destination: Destination | Address) -> Address:
    return destination if isinstance(destination, Address) else arguments.destination(destination).address
