"""Administration as far as AMQP 0-9-1 goes: it can count, make, delete and empty what is named, and list nothing."""

from jmsbridge.spi import Address, AddressRefused, DestinationInfo, NotSupported
from jmsbridge.transport.link_life import LinkLife
from jmsbridge_rabbitmq.broker import topology
from jmsbridge_rabbitmq.broker.conversations import Ask, Control, Conversation
from jmsbridge_rabbitmq.broker.queue_kinds import QueueKinds

__all__ = ["RabbitAdmin"]


class RabbitAdmin:
    """The SPI's Admin, which a link is as well."""

    dead_letters: Address | None
    """Where rejected messages go."""

    def __init__(self, life: LinkLife, control: Control, kinds: QueueKinds, dead_letter_queue: str) -> None:
        self.dead_letters = Address(dead_letter_queue) if dead_letter_queue else None
        self._life = life
        self._control = control
        self._kinds = kinds

    def list_destinations(self) -> list[DestinationInfo]:
        """Not over AMQP 0-9-1."""
        raise NotSupported(
            f"{self._life.broker} does not list its queues over AMQP 0-9-1; rabbitmqctl and its management page do"
        )

    def describe(self, address: Address) -> DestinationInfo:
        """What waits in one queue; messages that consumers hold are not counted."""
        if address.topic:
            return DestinationInfo(address=address, depth=0, consumers=0)
        depth, consumers = self._control.wait(topology.find_queue(address.name), f"looking at {address}")
        return DestinationInfo(address=address, depth=depth, consumers=consumers)

    def depth(self, address: Address) -> int:
        """How many messages wait in a queue; 0 where there is no such queue."""
        try:
            return self.describe(address).depth
        except AddressRefused:
            return 0

    def create(self, address: Address) -> None:
        """Make a queue; a topic needs nothing but its name."""
        if address.topic:
            self._control.wait(topology.ensure_exchange(topology.TOPICS), f"making {address}")
        else:
            self._control.wait(topology.ensure_queue(address.name, self._kinds), f"making {address}")

    def remove(self, address: Address) -> None:
        """Remove a queue with its messages; ``AddressInUse`` while it has consumers."""
        if address.topic:
            raise NotSupported(
                f"{address}: a topic of {self._life.broker} is a name only; remove its subscriptions instead"
            )
        self._control.wait(topology.delete_queue(address.name, str(address), self._kinds), f"removing {address}")

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Empty a queue; only as a whole."""
        if address.topic or selector is not None:
            broker = self._life.broker
            raise NotSupported(f"{address}: {broker} can empty whole queues only; no topics, no selectors")
        return int(self._control.wait(_purge(address.name), f"emptying {address}"))

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Not in one step over AMQP 0-9-1."""
        raise NotSupported(
            f"{self._life.broker} cannot move messages in one step over AMQP 0-9-1; receive and send them, or use "
            "its shovel"
        )


def _purge(queue: str) -> Conversation:
    answer = yield Ask("queue_purge", {"queue": queue})
    return answer.message_count
