"""One subscription of STOMP, from SUBSCRIBE to UNSUBSCRIBE, and what it has delivered. For the I/O thread."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from jmsbridge.spi import BackendError, Envelope, Interest, Mode
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.products import Product
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.messages.wire import Dialect
from jmsbridge_stomp.protocol.frames import Frame, header
from jmsbridge_stomp.receiving.definitions import definition, shared_queue
from jmsbridge_stomp.selecting.rewriting import rewritten

__all__ = ["Delivery", "Receiver", "name_of", "selector_of"]

_WIDE: Final = 64  # a window in which an acknowledgement may wait for others
_numbers = itertools.count(1)


class Delivery:
    """A message that was delivered: the token of its arrival."""

    __slots__ = ("ack", "envelope", "is_redelivered", "receiver")

    def __init__(self, receiver: "Receiver", ack: bytes, envelope: Envelope, is_redelivered: bool) -> None:
        self.receiver = receiver
        self.ack = ack
        self.envelope = envelope
        self.is_redelivered = is_redelivered


class Receiver:
    """``deliveries`` are the unsettled messages, in order; ``returned`` those of them that go back to the broker.

    ``joined`` are those that were accepted in a transaction that has not ended.

    ``credit`` is what was granted so far, which is served even if it is more than the window. A browser has nothing to
    settle: its messages remain in the queue.
    """

    def __init__(self, socket: StompSocket, facts: LinkFacts, interest: Interest, credit: int) -> None:
        self.socket = socket
        self.deliveries: dict[Delivery, None] = {}
        self.returned: set[Delivery] = set()
        self.joined: list[Delivery] = []
        self._product = facts.product
        self._client_id = facts.client_id
        self._interest = interest
        self._browses = interest.mode is Mode.BROWSE
        self._most = max(interest.window, credit) if interest.window else 0
        self._id = f"jb{next(_numbers)}"

    def subscribe(
        self, arrived: Callable[[Frame], None], answered: Callable[[Refusal | BackendError | None], None]
    ) -> None:
        """Begin; messages may arrive before the answer."""
        self.socket.subscriptions[self._id] = arrived
        self.socket.ask("SUBSCRIBE", self._headers(), answered)

    def _headers(self) -> Iterator[tuple[str, str]]:
        interest, product = self._interest, self._product
        dialect = product.dialect
        name, routing = dialect.destination(interest.address)
        yield "id", self._id
        yield "destination", f"{name}::{shared_queue(interest, self._client_id)}" if interest.shared else name
        yield "ack", "auto" if self._browses else "client-individual"
        if self._browses:
            yield "browser", "true"
        elif routing:
            yield "subscription-type", routing
        yield from dialect.creation(interest.address)
        if not self._browses:
            yield product.window, str(product.late_window if interest.deferred else self._window())
        if interest.key is not None and not interest.shared:
            yield name_of(self._product), interest.key
        selector = selector_of(interest, dialect)
        if selector:
            yield "selector", selector

    def _window(self) -> int:
        return self._most * self._product.window_unit or 1

    def delivered(self, frame: Frame, envelope: Envelope, is_redelivered: bool) -> Delivery:
        """Note a message."""
        made = Delivery(self, header("id", frame.headers.get("ack", "")), envelope, is_redelivered)
        if not self._browses:
            self.deliveries[made] = None
        return made

    def is_end(self, frame: Frame) -> bool:
        """Whether this is no message, but says that a browser has shown all."""
        return self._browses and frame.headers.get("browser") == "end"

    def accept(self, delivery: Delivery, answered: Callable[[Refusal | BackendError | None], None] | None) -> bool:
        """Acknowledge a message; false if it is settled already."""
        if self.deliveries.pop(delivery, self) is self or delivery in self.returned:
            return False
        self.socket.acknowledge(delivery.ack, answered, soon=self._most >= _WIDE)
        return True

    def join(self, deliveries: Iterable[Delivery]) -> list[Delivery]:
        """Those of the messages that are not settled, which are now accepted in the open transaction."""
        found = [one for one in deliveries if one in self.deliveries and one not in self.returned]
        for one in found:
            del self.deliveries[one]
        self.joined += found
        return found

    def end_joined(self, *, committed: bool) -> None:
        """The transaction has ended; if it was rolled back, the messages are unsettled again."""
        joined, self.joined = self.joined, []
        if not committed:
            self.deliveries.update(dict.fromkeys(joined))

    def unsubscribe(self, done: Callable[[], None]) -> None:
        """End; what is unsettled returns to the broker. What arrives from now on is ignored, and returns as well."""
        self.socket.subscriptions.pop(self._id, None)
        self.deliveries.clear()
        self.returned.clear()
        self.joined.clear()
        self.socket.ask("UNSUBSCRIBE", [("id", self._id)], lambda _: done())


def selector_of(interest: Interest, dialect: Dialect) -> str:
    """What the broker is to select by: messages of a queue; of topics, only the definition of a subscription."""
    if not interest.address.topic:
        return rewritten(interest.selector, dialect) if interest.selector and interest.select else ""
    return definition(interest) if interest.key is not None and not interest.shared else ""


def name_of(product: Product) -> str:
    """The header that names a durable subscription."""
    return "durable-subscription-name" if product.dialect.routes else "activemq.subscriptionName"
