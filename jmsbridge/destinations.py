"""Queues and topics: names that a program can hold, compare, pickle and send.

Creating one touches no broker (Jakarta Messaging 3.1 section 4.1).
"""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi.envelope import Address

__all__ = ["Destination", "Queue", "TemporaryQueue", "TemporaryTopic", "Topic", "destination_of"]


class Destination:
    """Base of all destinations; immutable, thread-safe, equal when kind and name are equal."""

    __slots__ = ("_address",)
    _topic = False
    _temporary = False

    def __init__(self, name: str) -> None:
        self._address = Address(name, self._topic, self._temporary)

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
        return type(self), (self._address.name,)


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


class TemporaryQueue(Queue):
    """A queue that lives as long as its connection (section 4.1.3)."""

    __slots__ = ("_delete",)
    _temporary = True

    def __init__(self, name: str, delete: Callable[[], None] | None = None) -> None:
        super().__init__(name)
        self._delete = delete

    def delete(self) -> None:
        """Remove it; a JMSException while consumers exist or where this connection did not make it."""
        _delete_temporary(self, self._delete)


class TemporaryTopic(Topic):
    """A topic that lives as long as its connection (section 4.2.4)."""

    __slots__ = ("_delete",)
    _temporary = True

    def __init__(self, name: str, delete: Callable[[], None] | None = None) -> None:
        super().__init__(name)
        self._delete = delete

    def delete(self) -> None:
        """Remove it; a JMSException while consumers exist or where this connection did not make it."""
        _delete_temporary(self, self._delete)


def _delete_temporary(destination: Destination, delete: Callable[[], None] | None) -> None:
    from jmsbridge.errors import JMSException

    if delete is None:
        raise JMSException(f"{destination!r} was not created by this connection; only its creator may delete it")
    delete()


_KINDS: dict[tuple[bool, bool], type[Destination]] = {
    (False, False): Queue,
    (True, False): Topic,
    (False, True): TemporaryQueue,
    (True, True): TemporaryTopic,
}


def destination_of(address: Address) -> Destination:
    """The JMS object for an address that arrived."""
    return _KINDS[address.topic, address.temporary](address.name)
