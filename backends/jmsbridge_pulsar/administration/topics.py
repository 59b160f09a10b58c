"""What is done with topics over the REST interface. These calls block."""

from contextlib import suppress

from jmsbridge.spi import AddressInUse, AddressRefused
from jmsbridge_pulsar.administration.rest import Rest, subscription_path, topic_path
from jmsbridge_pulsar.connection.partitions import MARK

__all__ = ["delete_topic", "parts_of"]


def parts_of(rest: Rest, topic: str) -> list[str]:
    """The topics with the messages of a topic: its partitions, or itself."""
    try:
        count = rest.get(f"{topic_path(topic)}/partitions")["partitions"]
    except AddressRefused:  # it does not exist
        count = 0
    return [f"{topic}{MARK}{number}" for number in range(count)] or [topic]


def delete_topic(rest: Rest, topic: str) -> None:
    """Delete it with its messages; AddressInUse while it has consumers. One that does not exist is deleted already.

    With producers of other clients it can only be ended: it takes no more messages and keeps none, and the broker
    deletes it later (``brokerDeleteInactiveTopicsEnabled``). Forcing it would have these clients make it again.
    """
    path = topic_path(topic)
    if parts_of(rest, topic) != [topic]:
        rest.delete(f"{path}/partitions")
        return
    try:
        with suppress(AddressRefused):
            rest.delete(path)
    except AddressInUse:
        subscriptions = rest.get(f"{path}/stats")["subscriptions"]
        if any(one["consumers"] for one in subscriptions.values()):
            raise
        for name in subscriptions:
            rest.delete(subscription_path(topic, name))
        rest.post(f"{path}/terminate")
