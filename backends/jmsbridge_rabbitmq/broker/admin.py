"""Administration as far as AMQP 0-9-1 goes: it can count, make, delete and empty what is named, and list nothing."""

from typing import Any

from jmsbridge.spi import Address, AddressRefused, NotSupported, Place
from jmsbridge_rabbitmq.broker import topology
from jmsbridge_rabbitmq.broker.conversations import Ask, Conversation
from jmsbridge_rabbitmq.broker.queue_kinds import QueueKinds
from jmsbridge_rabbitmq.connection.options import RabbitOptions

__all__ = ["RabbitAdmin"]


class RabbitAdmin:
    """The SPI's Admin, for the link that extends it."""

    options: RabbitOptions
    broker: str
    kinds: QueueKinds

    def ask(self, conversation: Conversation, what: str) -> Any:
        """Hold a conversation with the broker."""
        raise NotImplementedError

    @property
    def dead_letters(self) -> Address | None:
        """Where rejected messages go."""
        queue = self.options.dead_letter_queue
        return Address(queue) if queue else None

    def places(self) -> list[Place]:
        """Not over AMQP 0-9-1."""
        raise NotSupported(
            f"{self.broker} does not list its queues over AMQP 0-9-1; rabbitmqctl and its management page do"
        )

    def place(self, address: Address) -> Place:
        """What waits in one queue; messages that consumers hold are not counted."""
        if address.topic:
            return Place(address=address, depth=0, consumers=0)
        depth, consumers = self.ask(topology.find_queue(address.name), f"looking at {address}")
        return Place(address=address, depth=depth, consumers=consumers)

    def depth(self, address: Address) -> int:
        """How many messages wait in a queue; 0 where there is no such queue."""
        try:
            return self.place(address).depth
        except AddressRefused:
            return 0

    def create(self, address: Address) -> None:
        """Make a queue; a topic needs nothing but its name."""
        if address.topic:
            self.ask(topology.ensure_exchange(topology.TOPICS), f"making {address}")
        else:
            self.ask(topology.ensure_queue(address.name, self.kinds), f"making {address}")

    def remove(self, address: Address) -> None:
        """Remove a queue with its messages; ``AddressInUse`` while it has consumers."""
        if address.topic:
            raise NotSupported(f"{address}: a topic of {self.broker} is a name only; remove its subscriptions instead")
        self.ask(topology.delete_queue(address.name, str(address), self.kinds), f"removing {address}")

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Empty a queue; only as a whole."""
        if address.topic or selector is not None:
            raise NotSupported(f"{address}: {self.broker} can empty whole queues only; no topics, no selectors")
        return int(self.ask(_purge(address.name), f"emptying {address}"))

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Not in one step over AMQP 0-9-1."""
        raise NotSupported(
            f"{self.broker} cannot move messages in one step over AMQP 0-9-1; receive and send them, or use its shovel"
        )


def _purge(queue: str) -> Conversation:
    answer = yield Ask("queue_purge", {"queue": queue})
    return answer.message_count
