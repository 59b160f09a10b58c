"""Administration over AMQP 0-9-1, which can count, create, delete and purge, but not list."""

from jmsbridge.spi import Address, AddressRefused, DestinationInfo, NotSupported
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge_rabbitmq.broker import topology
from jmsbridge_rabbitmq.broker.conversations import Ask, Control, Conversation
from jmsbridge_rabbitmq.broker.queue_kinds import QueueKinds

__all__ = ["RabbitAdmin"]


class RabbitAdmin:
    """The SPI's Admin; ``Link`` extends it."""

    dead_letters: Address | None
    """Where rejected messages go."""

    def __init__(self, life: LinkLife, control: Control, kinds: QueueKinds, dead_letter_queue: str) -> None:
        self.dead_letters = Address(dead_letter_queue) if dead_letter_queue else None
        self._life = life
        self._control = control
        self._kinds = kinds

    def list_destinations(self) -> list[DestinationInfo]:
        """Not supported by AMQP 0-9-1."""
        raise NotSupported(
            f"{self._life.broker} cannot list queues over AMQP 0-9-1; use rabbitmqctl or its management page"
        )

    def describe(self, address: Address) -> DestinationInfo:
        """One queue; its depth does not count messages that consumers hold."""
        if address.topic:
            return DestinationInfo(address=address, depth=0, consumers=0)
        depth, consumers = self._control.wait(topology.find_queue(address.name), f"looking at {address}")
        return DestinationInfo(address=address, depth=depth, consumers=consumers)

    def depth(self, address: Address) -> int:
        """How many messages wait in a queue; 0 if it does not exist."""
        try:
            return self.describe(address).depth
        except AddressRefused:
            return 0

    def create(self, address: Address) -> None:
        """Create a queue; a topic exists without being created."""
        if address.topic:
            self._control.wait(topology.ensure_exchange(topology.TOPICS), f"creating {address}")
        else:
            self._control.wait(topology.ensure_queue(address.name, self._kinds), f"creating {address}")

    def remove(self, address: Address) -> None:
        """Remove a queue with its messages; ``AddressInUse`` while it has consumers."""
        if address.topic:
            raise NotSupported(
                f"{address}: a topic of {self._life.broker} is only a name; unsubscribe its subscriptions instead"
            )
        self._control.wait(topology.delete_queue(address.name, str(address), self._kinds), f"removing {address}")

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Purge a whole queue; selectors are not supported."""
        if address.topic or selector is not None:
            broker = self._life.broker
            raise NotSupported(f"{address}: {broker} can purge only whole queues, without selector, and no topics")
        return int(self._control.wait(_purge(address.name), f"purging {address}"))

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Not supported: AMQP 0-9-1 cannot move a message in one step."""
        raise NotSupported(
            f"{self._life.broker} cannot move messages in one step over AMQP 0-9-1; receive and send them, or use "
            "its shovel"
        )


def _purge(queue: str) -> Conversation:
    answer = yield Ask("queue_purge", {"queue": queue})
    return answer.message_count
