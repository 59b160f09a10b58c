"""Artemis's management messages: its operations, their arguments and their errors. Pure.

https://activemq.apache.org/components/artemis/documentation/latest/management.html#management-via-messages
"""

import json
import re
from typing import Any, Final, NamedTuple

from jmsbridge.spi import Address, AddressInUse, AddressRefused, BackendError, DestinationInfo, SelectorRefused

__all__ = [
    "ADDRESS",
    "EVERYTHING",
    "SUCCEEDED",
    "Refused",
    "Reply",
    "Request",
    "destinations",
    "has_code",
    "operation",
    "queues_where",
    "result",
    "rows",
]

ADDRESS: Final = "activemq.management"
"""Where the broker reads its management messages."""
SUCCEEDED: Final = "_AMQ_OperationSucceeded"
"""The property of a reply that says whether the operation was carried out."""

_CODE: Final = re.compile(r"AMQ(\d+)")
_MISSING: Final = ("229017", "229067", "229203")
_IN_USE: Final = ("229025", "229205")
_INVALID_SELECTOR: Final = "229020"
_EXISTS: Final = "229204"
_INTERNAL: Final = ("$", "activemq.")
_OUR_TEMPORARIES: Final = "jmsbridge-temp-"
_SHARED: Final = (":shared-volatile:global", ":shared-volatile", ":global")


class Request(NamedTuple):
    """A text message with properties."""

    properties: dict[str, Any]
    text: str


class Reply(NamedTuple):
    """The answer; ``queue`` is the name of the queue for the replies."""

    succeeded: bool
    text: str
    queue: str = ""


class Refused(BackendError):
    """Artemis refused an operation; ``exists`` says whether it did so because the address exists already."""

    exists = False


def operation(resource: str, name: str, *arguments: object) -> Request:
    """The request for an operation of a resource, such as ``broker`` or ``queue.NAME``."""
    return Request({"_AMQ_ResourceName": resource, "_AMQ_OperationName": name}, json.dumps(arguments))


def has_code(reply: Reply) -> bool:
    """Whether a refusal has a code of Artemis; without one, the broker has failed."""
    return _CODE.search(reply.text) is not None


def result(reply: Reply, what: str) -> Any:
    """What the operation returned; the error if it was refused."""
    try:
        values = json.loads(reply.text) if reply.text else []
    except ValueError:
        values = [reply.text]
    value = values[0] if isinstance(values, list) and values else None
    if reply.succeeded:
        return value
    text = f"{what}: Artemis refused it ({value})"
    code = found[1] if (found := _CODE.search(str(value))) else ""
    if code in _MISSING:
        raise AddressRefused(text)
    if code in _IN_USE:
        raise AddressInUse(f"{text}; close its consumers first")
    if code == _INVALID_SELECTOR:
        raise SelectorRefused(f"{text}; check the selector")
    refused = Refused(text)
    refused.exists = code == _EXISTS
    raise refused


def rows(value: Any) -> list[dict[str, str]]:
    """The rows that a list operation returned."""
    try:
        found: list[dict[str, str]] = json.loads(value)["data"]
    except (ValueError, TypeError, KeyError) as error:
        raise BackendError(f"Artemis's answer is not a list of queues or addresses: {str(value)[:200]}") from error
    return found


def queues_where(field: str, value: str) -> Request:
    """Asks for the queues whose ``name`` or ``address`` is the value."""
    options = {"field": field, "operation": "EQUALS", "value": value}
    return operation("broker", "listQueues", json.dumps(options), 1, -1)


_ALL: Final = json.dumps({"field": "", "operation": "", "value": ""})
EVERYTHING: Final = [operation("broker", f"list{kind}", _ALL, 1, -1) for kind in ("Queues", "Addresses")]
"""Asks for all queues and all addresses."""


def destinations(
    queues: list[dict[str, str]], addresses: list[dict[str, str]], oldest: dict[str, int], client_id: str | None
) -> list[DestinationInfo]:
    """The queues, topics and subscriptions, sorted by name.

    ``oldest`` has the time of the first message, by the name of its queue. Artemis calls the queue of a subscription
    ``<client id>.<name>``; both may contain full stops, so they are separated only for this client id.
    """
    found = []
    for each in addresses:
        if "MULTICAST" in each["routingTypes"] and not each["name"].startswith(_INTERNAL):
            address = Address(each["name"], True, _is_temporary(each["name"], each))
            found.append(DestinationInfo(address=address, depth=0, consumers=0))
    for queue in queues:
        name, where = queue["name"], queue["address"]
        if queue["internalQueue"] == "true" or where.startswith(_INTERNAL):
            continue
        topic = queue["routingType"] == "MULTICAST"
        subscription, owner = _subscription(name, client_id) if topic else (None, None)
        if topic and queue["temporary"] == "true" and subscription == name:
            continue  # a consumer's own, which has no name for users
        info = DestinationInfo(
            address=Address(where, topic, _is_temporary(where, queue)),
            depth=int(queue["messageCount"]),
            consumers=int(queue["consumerCount"]),
            oldest=oldest.get(name) or None,
            subscription=subscription,
            client_id=owner,
        )
        found.append(info)
    return sorted(found, key=lambda info: (info.address.name, info.address.topic, info.subscription or ""))


def _subscription(queue: str, client_id: str | None) -> tuple[str, str | None]:
    """The name and the client id of the subscription that has this queue."""
    for suffix in _SHARED:
        if queue.endswith(suffix):
            queue = queue.removesuffix(suffix)
            break
    if client_id and queue.startswith(f"{client_id}."):
        return queue[len(client_id) + 1 :], client_id
    return queue, None


def _is_temporary(name: str, each: dict[str, str]) -> bool:
    is_topics = each.get("routingType") == "MULTICAST"  # then the queue may be temporary although the topic is not
    return name.startswith(_OUR_TEMPORARIES) or (each["temporary"] == "true" and not is_topics)
