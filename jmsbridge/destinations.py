"""Queues and topics: names that a program can hold, compare, pickle and send.

Creating one does not contact the broker (Jakarta Messaging 3.1 section 4.1).
"""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from jmsbridge.done import DONE
from jmsbridge.errors import JMSException
from jmsbridge.spi.envelope import Address
from jmsbridge.strict import JavaNames
from jmsbridge.syntax import plain_name

__all__ = ["DESTINATION_KINDS", "Destination", "Queue", "TemporaryQueue", "TemporaryTopic", "Topic", "destination_of"]


class Destination(JavaNames):
    """Base of all destinations; immutable, thread-safe, equal when kind and name are equal.

    A name is used as it is on every broker. InvalidDestination for one that has a special meaning in some client,
    unless ``literal`` is True (``jmsbridge.syntax`` has the table).
    """

    __slots__ = ("_address",)
    _advice: ClassVar[dict[str, str]] = {"toString": "write str(…)"}
    _topic = False
    _temporary = False

    def __init__(self, name: str, *, literal: bool = False) -> None:
        self._address = Address(plain_name(name, topic=self._topic, literal=literal), self._topic, self._temporary)

    @property
    def address(self) -> Address:
        """The destination as the SPI sees it."""
        return self._address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Destination) and other._address == self._address

    def __hash__(self) -> int:
        return hash(self._address)

    def __str__(self) -> str:
        return self._address.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._address)


class Queue(Destination):
    """A point-to-point destination (section 4.1.2)."""

    __slots__ = ()

    @property
    def queue_name(self) -> str:
        """The name, as given."""
        return self._address.name


class Topic(Destination):
    """A publish-and-subscribe destination (section 4.2)."""

    __slots__ = ()
    _topic = True

    @property
    def topic_name(self) -> str:
        """The name, as given."""
        return self._address.name


class _Temporary(Destination):
    __slots__ = ("_delete",)
    _temporary = True
    _delete: Callable[[], Any] | None

    def __init__(self, name: str, delete: Callable[[], Any] | None = None) -> None:
        self._address = Address(name, self._topic, self._temporary)  # not checked: the broker may have chosen it
        self._delete = delete

    def delete(self) -> Awaitable[None]:
        """Remove it; IllegalState while it has consumers, JMSException if another connection created it.

        There is nothing to await in the result, except for one that a session of ``jmsbridge.aio`` created.
        """
        if self._delete is None:
            raise JMSException(f"{self!r} was not created by this connection; only its creator may delete it")
        return self._delete() or DONE


class TemporaryQueue(_Temporary, Queue):
    """A queue that lives as long as its connection (section 4.1.3)."""

    __slots__ = ()


class TemporaryTopic(_Temporary, Topic):
    """A topic that lives as long as its connection (section 4.2.4)."""

    __slots__ = ()


DESTINATION_KINDS = frozenset((Queue, Topic, TemporaryQueue, TemporaryTopic))
"""The classes of destinations; a lookup here is three times as fast as ``isinstance``."""

_KINDS: dict[tuple[bool, bool], type[Destination]] = {
    (False, False): Queue,
    (True, False): Topic,
    (False, True): TemporaryQueue,
    (True, True): TemporaryTopic,
}


def destination_of(address: Address) -> Destination:
    """The JMS object for an address; the name is not checked."""
    return _rebuild(_KINDS[address.topic, address.temporary], address)


def _rebuild(kind: type[Destination], address: Address) -> Destination:
    destination = kind.__new__(kind)
    destination._address = address
    if isinstance(destination, _Temporary):
        destination._delete = None
    return destination
