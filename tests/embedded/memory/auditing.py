"""Checks all counters and redundant structures of a broker by counting again."""

from jmsbridge_embedded.memory.broker import Broker
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.takers import View

__all__ = ["all_queues", "audit"]


def all_queues(broker: Broker) -> list[Queue]:
    topics = broker.destinations.topics.topics.values()
    return [*broker.destinations.queues.values(), *(each.queue for topic in topics for each in topic.subscriptions)]


def audit(broker: Broker) -> None:
    """Fail if something is wrong; like every verb, it first completes interrupted steps."""
    with broker.state.lock:
        broker.state.repair()
        queues = all_queues(broker)
        for queue in queues:
            _check_messages(queue)
            _check_consumers(queue)
        channels = [channel for link in broker.links for channel in link.channels]
        in_transactions = sum(len(channel.sends) for channel in channels)
        ended = {
            consumer
            for channel in channels
            for consumer in channel.subscriptions
            if getattr(consumer, "queue", None) not in queues
        }
        unsettled = sum(len(getattr(consumer, "held", ())) for consumer in ended)
        assert broker.state.stored == sum(queue.size for queue in queues) + in_transactions + unsettled
        assert broker.state.step is None


def _check_messages(queue: Queue) -> None:
    waiting = list(queue.main)
    own = [entry for consumer in queue.consumers for entry in consumer.own or ()]
    held = [entry for consumer in (*queue.consumers, *queue.retired) for entry in consumer.held]
    delayed = [entry for _, _, entry in queue.timetable.delayed]
    everything = [*waiting, *own, *held, *delayed]
    assert len(everything) == len(set(everything)) == queue.size, (queue.origin, len(everything), queue.size)
    assert all(entry.holder in (*queue.consumers, *queue.retired) for entry in held)
    assert all(entry in entry.holder.held for entry in held)  # type: ignore[attr-defined]
    for backlog in (queue.main, *queue.views.values()):
        keys = [entry.key for chunk in backlog.chunks for entry in chunk]
        assert keys == sorted(set(keys))
    for view in queue.views.values():
        assert list(view) == [entry for entry in waiting if view.wants(entry)]
    grouped = {entry for entry in everything if "JMSXGroupID" in entry.envelope.properties}
    assert grouped - set(delayed) <= queue.grouped <= grouped
    assert queue.plain == (not queue.views and not queue.grouped)
    if queue.timetable.delayed:
        assert queue.timetable.alarm is not None or queue.timetable.appearing


def _check_consumers(queue: Queue) -> None:
    views: list[View] = [queue.main, *queue.views.values()]
    rings = [consumer for view in views for consumer in view.ring]
    with_credit = [consumer for consumer in queue.consumers if consumer.credit > 0]
    assert len(rings) == len(set(rings)) == len(with_credit)
    assert set(rings) == set(with_credit)
    for view in views:
        assert all(consumer.view is view for consumer in view.ring)
        assert not (view.ring and any(True for _ in view)), (
            f"{queue.origin}: a consumer with credit waits although a message matches"
        )
    assert all(consumer.credit >= 0 for consumer in queue.consumers)
    assert all(not any(True for _ in consumer.own or ()) for consumer in with_credit)
