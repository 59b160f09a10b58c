"""How a broker answers that has one node, and no limits."""

from typing import TYPE_CHECKING

from tests.pulsar.server.topics import LEDGER, Consumer, Subscription
from tests.pulsar.server.wire import Command, Fields, Kind, message

if TYPE_CHECKING:
    from tests.pulsar.server.server import Line

__all__ = ["answer"]


def answer(line: "Line", heard: Command) -> None:
    """Answer one command."""
    found = _ANSWERS.get(heard.kind)
    if found is not None:
        found(line, heard)


def _connect(line: "Line", heard: Command) -> None:
    line.write(Kind.CONNECTED, f1=line.server.version, f2=19, f3=line.server.largest)


def _partitions(line: "Line", heard: Command) -> None:
    count = line.server.partitions.get(heard.fields.text(1), 0)
    line.write(Kind.PARTITIONS_RESPONSE, f1=count, f2=heard.fields.number(2), f3=0)


def _lookup(line: "Line", heard: Command) -> None:
    line.write(Kind.LOOKUP_RESPONSE, f1=line.server.address, f3=1, f4=heard.fields.number(2), f5=1)


def _producer(line: "Line", heard: Command) -> None:
    line.producers[heard.fields.number(2)] = line.server.topic(heard.fields.text(1))
    name = heard.fields.text(4) or f"scripted-{heard.fields.number(2)}"
    line.write(Kind.PRODUCER_SUCCESS, f1=heard.fields.number(3), f2=name)


def _send(line: "Line", heard: Command) -> None:
    producer = heard.fields.number(1)
    topic = line.producers.get(producer)
    if topic is None:
        return  # it was closed a moment ago
    number = topic.store(heard)
    place = message(f1=LEDGER, f2=number)
    line.write(Kind.SEND_RECEIPT, f1=producer, f2=heard.fields.number(2), f3=place)
    for subscription in topic.subscriptions.values():
        for consumer in list(subscription.consumers):
            consumer.deliver()


def _subscribe(line: "Line", heard: Command) -> None:
    topic = line.server.topic(heard.fields.text(1))
    first = 0 if heard.fields.number(13) else len(topic.entries)
    if 9 in heard.fields:
        first = min(first, _after(heard.fields.inside(9)))
    subscription = topic.subscriptions.setdefault(heard.fields.text(2), Subscription(first, heard.fields.number(8, 1)))
    consumer = Consumer(line, heard.fields.number(4), topic, subscription)
    subscription.consumers.append(consumer)
    line.consumers[consumer.number] = consumer
    _succeed(line, heard.fields.number(5))


def _after(place: Fields) -> int:
    """The number of the entry after this place; the begin and the end of a topic are ledgers of their own."""
    if place.number(1) == LEDGER:
        return (place.number(2) + 1) % (1 << 64)
    return 0 if place.number(1) >= 1 << 63 else 1 << 63


def _flow(line: "Line", heard: Command) -> None:
    consumer = line.consumers.get(heard.fields.number(1))
    if consumer is not None:
        consumer.permits += heard.fields.number(2)
        consumer.deliver()


def _acknowledge(line: "Line", heard: Command) -> None:
    consumer = line.consumers.get(heard.fields.number(1))
    if consumer is not None:
        consumer.acknowledge(heard.fields.all(3))


def _redeliver(line: "Line", heard: Command) -> None:
    consumer = line.consumers.get(heard.fields.number(1))
    if consumer is not None:
        consumer.take_back(heard.fields.all(2), counted=True)
        consumer.deliver()


def _close_consumer(line: "Line", heard: Command) -> None:
    consumer = line.consumers.pop(heard.fields.number(1), None)
    if consumer is not None:
        consumer.leave()
    _succeed(line, heard.fields.number(2))


def _close_producer(line: "Line", heard: Command) -> None:
    line.producers.pop(heard.fields.number(1), None)
    _succeed(line, heard.fields.number(2))


def _last_id(line: "Line", heard: Command) -> None:
    consumer = line.consumers[heard.fields.number(1)]
    last = len(consumer.topic.entries) - 1
    none = (1 << 64) - 1
    place = message(f1=LEDGER if last >= 0 else none, f2=last if last >= 0 else none)
    line.write(Kind.LAST_ID_RESPONSE, f1=place, f2=heard.fields.number(2))


def _seek(line: "Line", heard: Command) -> None:
    _succeed(line, heard.fields.number(2))


def _ping(line: "Line", heard: Command) -> None:
    line.write(Kind.PONG)


def _succeed(line: "Line", request: int) -> None:
    line.write(Kind.SUCCESS, f1=request)


_ANSWERS = {
    Kind.CONNECT: _connect,
    Kind.PARTITIONS: _partitions,
    Kind.LOOKUP: _lookup,
    Kind.PRODUCER: _producer,
    Kind.SEND: _send,
    Kind.SUBSCRIBE: _subscribe,
    Kind.FLOW: _flow,
    Kind.ACK: _acknowledge,
    Kind.REDELIVER: _redeliver,
    Kind.CLOSE_CONSUMER: _close_consumer,
    Kind.UNSUBSCRIBE: _close_consumer,
    Kind.CLOSE_PRODUCER: _close_producer,
    Kind.LAST_ID: _last_id,
    Kind.SEEK: _seek,
    Kind.PING: _ping,
}
