"""Names, sources and targets of links, as Qpid JMS sets them. For the I/O thread."""

import itertools
from typing import Any, Final

import proton

from jmsbridge.spi import Address

__all__ = ["OUTCOMES", "capability", "has_selector", "link_name", "offered_by", "put_filters", "symbols"]

OUTCOMES: Final = ("amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list")

_SELECTOR: Final = ("jms-selector", 0x0000468C00000004)
_SELECTOR_SYMBOL: Final = "apache.org:selector-filter:string"
_NO_LOCAL: Final = ("no-local", 0x0000468C00000003)


_numbers = itertools.count(1)


def link_name() -> str:
    """A name for a link that is not a subscription's; all have one length, so frames are equally long in every run."""
    return f"jmsbridge-{next(_numbers):08d}"


def symbols(data: Any, *names: str) -> None:
    """Write an array of symbols; brokers close the connection for an array of another type."""
    data.put_object(proton.Array(proton.UNDESCRIBED, proton.Data.SYMBOL, *map(proton.symbol, names)))


def offered_by(terminus: Any) -> frozenset[str]:
    """The capabilities of a source or target in the broker's answer."""
    there = terminus.capabilities
    there.rewind()
    found = there.get_object() if there.next() else None
    names = getattr(found, "elements", None) or ([found] if found is not None else [])
    return frozenset(map(str, names))


def capability(address: Address) -> str:
    """Tells the broker whether a queue or a topic is meant; our temporary destinations are ordinary ones to it."""
    return "topic" if address.topic else "queue"


def put_filters(source: Any, selector: str | None, *, no_local: bool) -> None:
    """Write the filters of a source."""
    filters: dict[Any, Any] = {}
    if no_local:
        name, descriptor = _NO_LOCAL
        filters[proton.symbol(name)] = proton.Described(proton.ulong(descriptor), "NoLocalFilter{}")
    if selector is not None:
        name, descriptor = _SELECTOR
        filters[proton.symbol(name)] = proton.Described(proton.ulong(descriptor), selector)
    if filters:
        source.filter.put_dict(filters)


def has_selector(source: Any) -> bool:
    """Whether the source in the broker's answer has a selector; if not, the broker does not apply the selector."""
    filters = source.filter
    filters.rewind()
    found = filters.get_object() if filters.next() else None
    descriptors = [getattr(each, "descriptor", None) for each in (found or {}).values()]
    return any(each == _SELECTOR[1] or str(each) == _SELECTOR_SYMBOL for each in descriptors)
