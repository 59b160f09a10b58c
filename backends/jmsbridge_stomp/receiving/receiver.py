"""One subscription of STOMP, from SUBSCRIBE to UNSUBSCRIBE, and what it has delivered. For the I/O thread."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from jmsbridge.spi import Envelope, Interest, Mode
from jmsbridge.transport.network.link_life import ignored
from jmsbridge_stomp.connection.products import Product
from jmsbridge_stomp.connection.sockets import log
from jmsbridge_stomp.connection.stomp_socket import Answered, StompSocket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.messages.wire import Dialect
from jmsbridge_stomp.protocol.frames import Frame, unescaped
from jmsbridge_stomp.receiving.definitions import definition, shared_queue
from jmsbridge_stomp.selecting.rewriting import rewritten

__all__ = ["Delivery", "Receiver", "accept_all", "accept_one", "name_of", "selector_of"]

_OVERHEAD: Final = 512  # bytes of a message beside its body and its headers
_WIDE: Final = 64  # the smallest window in which acknowledgements may wait for others; also how many, in a stream
_REMEMBERED: Final = 500  # acknowledgements in transactions, see ``Transaction``
_OWN: Final = re.compile(r"(?!ID\\c)|ID\\c.*\\c-?\d+\\c-?\d+\\c-?\d+\Z")  # as ActiveMQ Classic writes its ids
_receiver_of = attrgetter("receiver")
_numbers = itertools.count(1)


class Delivery:
    """A message that was delivered: the token of its arrival."""

    __slots__ = ("ack", "envelope", "is_redelivered", "receiver", "size")

    def __init__(self, receiver: "Receiver", ack: bytes, envelope: Envelope, is_redelivered: bool, size: int) -> None:
        self.receiver = receiver
        self.ack = ack
        self.envelope = envelope
        self.is_redelivered = is_redelivered
        self.size = size


class Receiver:
    """``deliveries`` are the unsettled messages, in order; ``returned`` those of them that go back to the broker.

    ``joined`` are those that were accepted in a transaction that has not ended.

    ``credit`` is what was granted so far, which is served even if it is more than the window; ``late`` is the window if
    settlements come late. A browser has nothing to settle: its messages remain in the queue.
    """

    def __init__(self, socket: StompSocket, facts: LinkFacts, interest: Interest, credit: int, late: int) -> None:
        self.socket = socket
        self.unsettled_size = 0
        """Of the unsettled messages, as Artemis may count them; 0 unless settlements come late."""
        self.deliveries: dict[Delivery, None] = {}
        self.returned: set[Delivery] = set()
        self.joined: list[Delivery] = []
        self._acknowledged = 0  # in transactions, which the broker remembers
        self._product = facts.product
        self._client_id = facts.client_id
        self._interest = interest
        self._browses = interest.mode is Mode.BROWSE
        self._most = max(interest.window, credit) if interest.window else 0
        self._late = late
        self._arrived: Callable[[Sequence[Frame]], None] = ignored
        self._names: list[str] = []  # of its subscriptions at the broker, which share all else

    def subscribe(self, arrived: Callable[[Sequence[Frame]], None], answered: Answered) -> None:
        """Begin; messages may arrive before the answer."""
        self._arrived = arrived
        self._add(answered)

    def can_settle(self, frame: Frame) -> bool:
        """Whether a message could be acknowledged; if not, it would be received again and again."""
        if self._browses or not self._product.parses_ids:
            return True
        name = frame.headers.get("message-id", "")
        if _OWN.match(name) is not None:
            return True
        log.warning(
            "%s: the message %s is not delivered: the broker takes no acknowledgement over STOMP of what was "
            "sent over AMQP 1.0 with an id, so that it stays there; receive it over amqp://",
            self._interest.address,
            unescaped(name),
        )
        return False

    def widen(self) -> None:
        """Take as much again."""
        self._add(ignored)  # if the broker refuses it, the others go on

    def _add(self, answered: Answered) -> None:
        name = f"jb{next(_numbers)}"
        self._names.append(name)
        self.socket.subscriptions[name] = self._arrived
        self.socket.ask("SUBSCRIBE", self._headers(name), answered)

    @property
    def is_exhausted(self) -> bool:
        """Whether the broker may send no more because of what is unsettled, although settlements come late."""
        counts = self._product.window_unit == 1
        unsettled = len(self.deliveries) + len(self.joined) if counts else self.unsettled_size
        return unsettled >= self._late * len(self._names)

    @property
    def is_worn(self) -> bool:
        """Whether to subscribe anew because of what the broker remembers of it, now that nothing is unsettled."""
        return self._acknowledged >= _REMEMBERED and not self.deliveries

    def hold_back(self, is_full: bool) -> None:
        """Say whether no more messages can be kept."""
        for name in self._names:
            self.socket.hold_back(name, is_full)

    def _headers(self, name: str) -> Iterator[tuple[str, str]]:
        interest, product = self._interest, self._product
        dialect = product.dialect
        destination, routing = dialect.destination(interest.address)
        queue = f"::{shared_queue(interest, self._client_id)}" if interest.shared else ""
        yield "id", name
        yield "destination", f"{destination}{queue}"
        yield "ack", "auto" if self._browses else "client-individual"
        if self._browses:
            yield "browser", "true"
        elif routing:
            yield "subscription-type", routing
        yield from dialect.creation(interest.address)
        if not self._browses:
            yield product.window, str(self._late if interest.deferred else self._window())
        if interest.key is not None and not interest.shared:
            yield name_of(self._product), interest.key
        selector = selector_of(interest, dialect)
        if selector:
            yield "selector", selector

    def _window(self) -> int:
        """At least 1, which lets in one unsettled message, also where bytes are counted."""
        return self._most * self._product.window_unit if self._most > 1 else 1

    def delivered(self, frame: Frame, envelope: Envelope, is_redelivered: bool) -> Delivery:
        """Note a message."""
        size = _size_of(frame) if self._interest.deferred else 0
        name = frame.headers.get(self._product.names_message, "").replace("\0", "")  # which would end the frame
        made = Delivery(self, b"id:%b\n" % name.encode(), envelope, is_redelivered, size)
        if not self._browses:
            self.deliveries[made] = None
            self.unsettled_size += size
        return made

    def is_end(self, frame: Frame) -> bool:
        """Whether this is no message, but says that a browser has shown all."""
        return frame.headers.get("browser") == "end"

    def accept(self, delivery: Delivery, answered: Answered) -> bool:
        """Acknowledge a message; false if it is settled already."""
        if not self._settles(delivery):
            return False
        self.socket.acknowledge(delivery.ack, answered)
        return True

    def accept_some(self, deliveries: Iterable[Delivery]) -> bool:
        """Acknowledge those of its messages that are not settled already; false if all are."""
        acks = [one.ack for one in deliveries if self._settles(one)]
        if acks:
            self.socket.acknowledge_all(acks)
        return bool(acks)

    def _settles(self, delivery: Delivery) -> bool:
        if delivery in self.returned or self.deliveries.pop(delivery, self) is self:
            return False
        self.unsettled_size -= delivery.size
        return True

    @property
    def awaited(self) -> int:
        """How many accepted messages wake the I/O thread at once: all that are held, or more in a stream.

        0 if none may wait for others.
        """
        if self._most < _WIDE:
            return 0
        return _WIDE if self.socket.reads_stream else len(self.deliveries) - len(self.returned)

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
        if committed:
            self._acknowledged += len(joined)
            self.unsettled_size -= sum(delivery.size for delivery in joined)
        else:
            self.deliveries.update(dict.fromkeys(joined))

    def unsubscribe(self, done: Callable[[], None]) -> None:
        """End; what is unsettled returns to the broker. What arrives from now on is ignored, and returns as well."""
        names, self._names = self._names, []
        self.socket.kept.pop(self, None)
        self.deliveries.clear()
        self.returned.clear()
        self.joined.clear()
        for name in names:
            self.socket.forget(name)
        for name in names[:0:-1]:  # the latest first, so that the messages come to stand in their old order
            self.socket.tell("UNSUBSCRIBE", [("id", name)])
        self.socket.ask("UNSUBSCRIBE", [("id", names[0])], lambda _: done())


def accept_one(delivery: Delivery) -> bool:
    """Acknowledge a message, without asking for an answer; false if it is settled already."""
    return delivery.receiver.accept_some((delivery,))


def accept_all(deliveries: Iterable[Delivery]) -> None:
    """Acknowledge those that are not settled already, without asking for answers."""
    for receiver, group in itertools.groupby(deliveries, _receiver_of):
        receiver.accept_some(group)


def _size_of(frame: Frame) -> int:
    """At least what the broker counts: Artemis has two bytes for each character."""
    return _OVERHEAD + 2 * (len(frame.body) + sum(len(name) + len(value) for name, value in frame.headers.items()))


def selector_of(interest: Interest, dialect: Dialect) -> str:
    """What the broker is to select by: messages of a queue; of topics, only the definition of a subscription."""
    if not interest.address.topic:
        return rewritten(interest.selector, dialect) if interest.selector and interest.select else ""
    return definition(interest) if interest.key is not None and not interest.shared else ""


def name_of(product: Product) -> str:
    """The header that names a durable subscription."""
    return "durable-subscription-name" if product.dialect.routes else "activemq.subscriptionName"
