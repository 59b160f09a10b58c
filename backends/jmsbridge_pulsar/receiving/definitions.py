"""The definition of a subscription, kept with it at the broker; only over the REST interface. These calls block."""

from typing import Final

import msgspec

from jmsbridge.spi import AddressInUse, AddressRefused, BackendError, Interest, SubscriptionRefused, SubscriptionUnknown
from jmsbridge_pulsar.administration.rest import Rest, quoted, topic_path

__all__ = ["delete_subscription", "prepare", "topic_of"]

_PROPERTY: Final = "jmsbridge.definition"
_LATEST: Final = 2**63 - 1


class _Definition(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a subscription must be asked for with each time."""

    shared: bool = False
    selector: str | None = None
    no_local: bool = False


def prepare(rest: Rest, topic: str, name: str, interest: Interest) -> None:
    """Make the subscription, or compare its definition; one that was changed begins anew.

    SubscriptionRefused if it is shared where this is not, or has consumers that asked for another definition. One
    without a definition was made by another client, and gets none.
    """
    wanted = _Definition(interest.shared, interest.selector, interest.no_local)
    path = f"{topic_path(topic)}/subscription/{quoted(name)}"
    try:
        found = rest.get(f"{path}/properties") or {}
    except AddressRefused:
        _make(rest, path, wanted)
        return
    text = found.get(_PROPERTY)
    if text is None:
        return
    kept = msgspec.json.decode(text, type=_Definition)
    if kept == wanted:
        return
    if kept.shared != wanted.shared and interest.durable:
        kinds = ("unshared", "shared")
        raise SubscriptionRefused(
            f"durable subscription {interest.key!r} is {kinds[kept.shared]}, not {kinds[wanted.shared]}; unsubscribe it first"
        )
    try:
        rest.delete(path)
    except AddressInUse as error:
        raise SubscriptionRefused(
            f"subscription {interest.key!r} has a consumer with another selector or no_local; close that one first"
        ) from error
    _make(rest, path, wanted)


def _make(rest: Rest, path: str, definition: _Definition) -> None:
    position = {"ledgerId": _LATEST, "entryId": _LATEST, "partitionIndex": -1}
    rest.put(path, position | {"properties": {_PROPERTY: msgspec.json.encode(definition).decode()}})


def topic_of(rest: Rest, namespace: str, name: str) -> str | None:
    """The topic that has a subscription of this name; all of the namespace are asked."""
    for topic in rest.get(f"persistent/{namespace}"):
        try:
            if name in rest.get(f"{topic_path(topic)}/subscriptions"):
                return str(topic)
        except BackendError:
            continue  # deleted meanwhile, or with a name that the broker takes in no request
    return None


def delete_subscription(rest: Rest, topic: str | None, name: str, key: str) -> None:
    """Delete a durable subscription; SubscriptionUnknown, or SubscriptionRefused while it has a consumer."""
    try:
        if topic is None:
            raise AddressRefused(f"no topic has subscription {name!r}")
        rest.delete(f"{topic_path(topic)}/subscription/{quoted(name)}")
    except AddressRefused as error:
        raise SubscriptionUnknown(f"there is no durable subscription {key!r}: {error}") from error
    except AddressInUse as error:
        raise SubscriptionRefused(f"durable subscription {key!r} has a consumer; close that one first") from error
