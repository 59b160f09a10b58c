"""The definition of a subscription, kept with it at the broker.

It is written when a subscription is made; only the REST interface reads it. These calls block.
"""

from contextlib import suppress
from typing import Final

import msgspec

from jmsbridge.spi import (
    AddressInUse,
    AddressRefused,
    Interest,
    SubscriptionRefused,
    SubscriptionUnknown,
)
from jmsbridge_pulsar.administration.rest import EARLIEST, Rest, subscription_path, topic_path

__all__ = ["CLIENTS", "NON_DURABLE", "REGISTRY", "check_definition", "definition", "delete_subscription", "owner_of"]

REGISTRY: Final = "jmsbridge-subscriptions"
"""The topic whose subscriptions tell the topics of others."""

CLIENTS: Final = "jmsbridge-clients"
"""The topic whose subscriptions are the client ids in use."""

_PROPERTY: Final = "jmsbridge.definition"
_CLIENT: Final = "jmsbridge.client_id"
_TOPIC: Final = "jmsbridge.topic"
NON_DURABLE: Final = "non-durable."
"""How the names of shared subscriptions begin that are not durable."""


class _Definition(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a subscription must be asked for with each time."""

    shared: bool = False
    selector: str | None = None
    no_local: bool = False


def definition(interest: Interest, client_id: str | None) -> dict[str, str]:
    """The properties of its subscription, which has this client id."""
    made = _Definition(interest.shared, interest.selector, interest.no_local)
    found = {_PROPERTY: msgspec.json.encode(made).decode()}
    if client_id is not None:
        found[_CLIENT] = client_id
    return found


def owner_of(subscription: str, properties: dict[str, str]) -> tuple[str, str | None]:
    """The name of a subscription as the application gave it, and its client id."""
    client_id = properties.get(_CLIENT)
    key = subscription.removeprefix(NON_DURABLE)
    return (key, None) if client_id is None else (key.removeprefix(f"{client_id}_"), client_id)


def check_definition(
    rest: Rest, namespace: str, topic: str, name: str, interest: Interest, client_id: str | None
) -> None:
    """Compare that of an existing subscription, and delete it if it was changed, so that it begins anew.

    SubscriptionRefused if it is another one of the same name, shared where this is not, or has consumers that asked for
    another definition. One without a definition was made by another client and is used as it is.
    """
    before, owner = _topic_of(rest, namespace, name), (str(interest.key), client_id)
    if before != topic:
        if before is not None:
            _check_owner(_properties(rest, subscription_path(before, name)), name, owner)
            _delete_idle(rest, subscription_path(before, name), interest)
        _remember(rest, namespace, name, topic)
    path = subscription_path(topic, name)
    properties = _properties(rest, path)
    _check_owner(properties, name, owner)
    text = properties.get(_PROPERTY)
    if text is None or text == definition(interest, None)[_PROPERTY]:
        return
    try:
        kept = msgspec.json.decode(text, type=_Definition)
    except msgspec.DecodeError as error:
        raise SubscriptionRefused(
            f"what subscription {interest.key!r} was made with cannot be read ({error}): unsubscribe it first, or use "
            "the version of jmsbridge that made it"
        ) from error
    if kept.shared != interest.shared and interest.durable:
        kinds = ("unshared", "shared")
        raise SubscriptionRefused(
            f"durable subscription {interest.key!r} is {kinds[kept.shared]}, not {kinds[interest.shared]}; "
            "unsubscribe it first"
        )
    _delete_idle(rest, path, interest)


def _properties(rest: Rest, path: str) -> dict[str, str]:
    """Those of a subscription; none if it does not exist."""
    try:
        return rest.get(f"{path}/properties") or {}
    except AddressRefused:
        return {}


def _check_owner(properties: dict[str, str], subscription: str, wanted: tuple[str, str | None]) -> None:
    """SubscriptionRefused for that of another client id, whose names together are the same."""
    owner = owner_of(subscription, properties)
    if _PROPERTY in properties and owner != wanted:
        key, client_id = owner
        raise SubscriptionRefused(
            f"subscription {wanted[0]!r} of client id {wanted[1]!r} would be {subscription!r} at the broker, which is "
            f"subscription {key!r} of client id {client_id!r}: use another name"
        )


def _delete_idle(rest: Rest, path: str, interest: Interest) -> None:
    try:
        with suppress(AddressRefused):  # it is gone already
            rest.delete(path)
    except AddressInUse as error:
        raise SubscriptionRefused(
            f"subscription {interest.key!r} has a consumer with another topic, selector or no_local; close that first"
        ) from error


def _topic_of(rest: Rest, namespace: str, name: str) -> str | None:
    """The topic of a subscription of this name, if jmsbridge made it.

    A name stands for one subscription in JMS, but for one on each topic in Pulsar. So for each there is a subscription
    of the same name on one more topic, which gets no messages, and whose properties tell the topic.
    """
    try:
        found: dict[str, str] | None = rest.get(f"{_entry(namespace, name)}/properties")
    except AddressRefused:
        return None
    return (found or {}).get(_TOPIC)


def _remember(rest: Rest, namespace: str, name: str, topic: str) -> None:
    entry, properties = _entry(namespace, name), {_TOPIC: topic}
    made = EARLIEST | {"properties": properties}
    try:
        rest.put(entry, made)
    except AddressInUse:  # it exists, or there is no such topic, and the namespace lets nobody make one by using it
        try:
            rest.put(f"{entry}/properties", properties)
        except AddressRefused:
            rest.put(topic_path(f"persistent://{namespace}/{REGISTRY}"))
            rest.put(entry, made)


def _entry(namespace: str, name: str) -> str:
    return subscription_path(f"persistent://{namespace}/{REGISTRY}", name)


def delete_subscription(
    rest: Rest, namespace: str, topic: str | None, name: str, owner: tuple[str, str | None]
) -> None:
    """Delete a durable subscription, of this name and client id.

    SubscriptionUnknown, or SubscriptionRefused while it has a consumer. Without its topic it must be one that jmsbridge
    made.
    """
    topic, key = topic or _topic_of(rest, namespace, name), owner[0]
    try:
        if topic is None:
            raise AddressRefused(f"no topic has subscription {name!r}")
        _check_owner(_properties(rest, subscription_path(topic, name)), name, owner)
        rest.delete(subscription_path(topic, name))
    except AddressRefused as error:
        raise SubscriptionUnknown(f"there is no durable subscription {key!r}: {error}") from error
    except AddressInUse as error:
        raise SubscriptionRefused(f"durable subscription {key!r} has a consumer; close that one first") from error
    with suppress(AddressRefused):
        rest.delete(_entry(namespace, name))
