"""In which order, and to whom: rules OR-1 to OR-4 and PY-1."""

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, DeliveryMode, Message, Queue, Session, Topic
from jmsbridge.errors import JMSException, JMSRuntimeException
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import deferred_session, deliveries, take
from jmsbridge.testing.suite.sending.completion_threads import Holding, send_async
from jmsbridge.testing.suite.support import (
    LONG,
    Collector,
    Completions,
    assert_empty,
    eventually,
    receive_texts,
    run_thread,
    send_texts,
)

COUNT = 60
TEXTS = [str(number) for number in range(COUNT)]


@rule("OR-1")
def test_order_of_one_producer(session: Session, queue: Queue) -> None:
    """What one producer sends is received in that order, also by a consumer with a small prefetch."""
    send_texts(session, queue, *TEXTS)
    assert receive_texts(session.create_consumer(queue, prefetch=7), COUNT) == TEXTS


@rule("OR-1")
@pitfall(17)
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_order_across_producers_of_a_session(session: Session, queue: Queue, topic: Topic, kind: str) -> None:
    """The session's order is kept when two producers and an anonymous one take turns."""
    destination = queue if kind == "queue" else topic
    consumer = session.create_consumer(destination)
    first, second = session.create_producer(destination), session.create_producer(destination)
    anonymous = session.create_producer(None)
    for number, text in enumerate(TEXTS):
        message = session.create_text_message(text)
        if number % 3 == 2:
            anonymous.send(destination, message)
        else:
            (first, second)[number % 3].send(message)
    assert receive_texts(consumer, COUNT) == TEXTS


@rule("OR-1", "OR-3")
def test_order_per_destination_when_interleaved(harness: Harness, session: Session, queue: Queue) -> None:
    """One producer and three destinations: each destination gets its messages in order."""
    queues = [queue, harness.queue("second"), harness.queue("third")]
    producer = session.create_producer(None)
    for number, text in enumerate(TEXTS):
        producer.send(queues[number % 3], session.create_text_message(text))
    for number, destination in enumerate(queues):
        assert receive_texts(session.create_consumer(destination), COUNT // 3) == TEXTS[number::3]


@rule("OR-1")
def test_order_of_topic_is_the_same_for_all(harness: Harness, session: Session, topic: Topic) -> None:
    """Every subscriber sees one session's messages in send order, whether it receives or listens."""
    receiving = session.create_consumer(topic)
    collector = Collector()
    harness.connect().create_session().create_consumer(topic).message_listener = collector
    send_texts(session, topic, *TEXTS)
    collector.wait(COUNT)
    assert collector.texts == TEXTS
    assert receive_texts(receiving, COUNT) == TEXTS


@rule("OR-1")
def test_order_listener_and_receive_agree(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener set after messages have arrived gets them all, oldest first."""
    send_texts(session, queue, *TEXTS)
    listening = harness.connect().create_session()
    consumer = listening.create_consumer(queue, prefetch=5)
    assert receive_texts(consumer, 3) == TEXTS[:3]
    collector = Collector()
    consumer.message_listener = collector
    collector.wait(COUNT - 3)
    assert collector.texts == TEXTS[3:]


@rule("OR-1")
@pytest.mark.parametrize("blocking", [False, True], ids=["without_waiting", "waiting"])
def test_order_non_persistent_keeps_order(harness: Harness, queue: Queue, blocking: bool) -> None:
    """Non-persistent messages of one priority keep their order, waited for or not."""
    sending = harness.connect(block_on_non_durable_send=blocking).create_session()
    send_texts(sending, queue, *TEXTS, delivery_mode=DeliveryMode.NON_PERSISTENT)
    assert receive_texts(sending.create_consumer(queue), COUNT) == TEXTS


@rule("OR-1")
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("transacted", [False, True], ids=["plain", "transacted"])
def test_order_persistent_overtakes_nothing(harness: Harness, queue: Queue, transacted: bool) -> None:
    """With both modes mixed a non-persistent message may skip ahead, a persistent one may not (section 6.2.9.1)."""
    connection = harness.connect()
    sending = connection.create_session(transacted=transacted)
    producer = sending.create_producer(queue)
    for number, text in enumerate(TEXTS):
        producer.send(sending.create_text_message(text), delivery_mode=2 if number % 3 else 1)
    if transacted:
        sending.commit()
    got = [int(text) for text in receive_texts(connection.create_session().create_consumer(queue), COUNT)]
    assert sorted(got) == list(range(COUNT))
    assert [number for number in got if number % 3 == 0] == list(range(0, COUNT, 3))
    for place, number in enumerate(got):
        if number % 3:
            assert [later for later in got[place:] if later < number] == [], f"{number} came too early in {got}"


@rule("OR-2")
@pitfall(17)
def test_order_mixes_sync_and_async(session: Session, queue: Queue) -> None:
    """Synchronous and asynchronous sends of one producer are received in the order of the calls."""
    producer = session.create_producer(queue)
    listener = Completions()
    for number, text in enumerate(TEXTS):
        message = session.create_text_message(text)
        if number % 4 == 0:
            producer.send(message)
        elif number % 4 == 1:
            producer.send_async(message)
        else:
            producer.send(message, completion_listener=listener)
    listener.wait(COUNT // 2)
    assert receive_texts(session.create_consumer(queue), COUNT) == TEXTS


@rule("OR-2", "OR-1")
@pitfall(17)
def test_order_mixes_sync_and_async_across_producers(session: Session, queue: Queue) -> None:
    """The session's order is kept between a producer that waits and one that does not."""
    waiting, hasty = session.create_producer(queue), session.create_producer(queue)
    listener = Completions()
    for number, text in enumerate(TEXTS):
        if number % 2:
            waiting.send(session.create_text_message(text))
        else:
            hasty.send(session.create_text_message(text), completion_listener=listener)
    listener.wait(COUNT // 2)
    assert receive_texts(session.create_consumer(queue), COUNT) == TEXTS


@rule("OR-2")
@pitfall(17)
def test_order_context_mixes_sync_and_async(harness: Harness, queue: Queue) -> None:
    """The same for the producers of a JMSContext that are switched back and forth with set_async."""
    context = harness.context()
    first, second = context.create_producer(), context.create_producer()
    listener = Completions()
    for number, text in enumerate(TEXTS):
        producer = first if number % 2 else second
        producer.set_async(listener if number % 3 else None).send(queue, text)
    listener.wait(COUNT - COUNT // 3)
    assert receive_texts(context.create_consumer(queue), COUNT) == TEXTS


@rule("OR-3", "AC-3")
def test_order_acknowledgement_follows_consumption(harness: Harness, session: Session, queue: Queue) -> None:
    """Acknowledge covers what the session consumed so far, whichever consumer and destination it came by."""
    other = harness.queue("other")
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    first, second = client.create_consumer(queue), client.create_consumer(other)
    send_texts(session, queue, "a1", "a2")
    send_texts(session, other, "b1", "b2")
    take(first)
    take(second).acknowledge()
    take(second)
    take(first)
    client.recover()
    assert deliveries(first, 1) == [("a2", True, 2)]
    assert deliveries(second, 1) == [("b2", True, 2)]


@rule("OR-4")
def test_order_each_message_to_one_consumer(harness: Harness, session: Session, queue: Queue) -> None:
    """Three consumers share a queue: every message goes to exactly one, and to each in order."""
    collectors = [Collector() for _ in range(3)]
    for collector in collectors:
        harness.connect(prefetch=2).create_session().create_consumer(queue).message_listener = collector
    send_texts(session, queue, *TEXTS)
    eventually(lambda: sum(len(collector.messages) for collector in collectors) >= COUNT)
    assert_empty(session.create_consumer(queue), timeout=0.1)
    got = [[int(text or "") for text in collector.texts] for collector in collectors]
    assert sorted(number for part in got for number in part) == list(range(COUNT))
    assert all(part == sorted(part) for part in got)


@rule("OR-4", "SE-23")
@requires(Native.QUEUE_SELECTORS)
@pytest.mark.parametrize("first", ["messages", "consumers"])
def test_order_each_message_to_one_of_two_selections(
    harness: Harness, session: Session, queue: Queue, first: str
) -> None:
    """A message that the selectors of two consumers match goes to one of them, and none is lost."""
    collectors = {"n < 40": Collector(), "n >= 20": Collector()}

    def consume() -> None:
        for selector, collector in collectors.items():
            sharing = harness.connect(prefetch=3).create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
            sharing.create_consumer(queue, selector).message_listener = collector

    if first == "consumers":
        consume()
    producer = session.create_producer(queue)
    for number in range(COUNT):
        message = session.create_message()
        message.set_int_property("n", number)
        producer.send(message)
    if first == "messages":
        consume()
    eventually(lambda: sum(len(collector.messages) for collector in collectors.values()) >= COUNT, 3 * LONG)
    low, high = ([message.get_int_property("n") for message in each.messages] for each in collectors.values())
    assert sorted(low + high) == list(range(COUNT))
    assert max(low) < 40
    assert min(high) >= 20


@rule("OR-4")
@requires(Native.SHARED)
def test_order_each_message_to_one_shared_consumer(harness: Harness, session: Session, topic: Topic) -> None:
    """Consumers of a shared subscription divide its messages; another subscription gets all of them."""
    name = harness.name("shared")
    collectors = [Collector() for _ in range(2)]
    for collector in collectors:
        sharing = harness.connect(prefetch=2).create_session()
        sharing.create_shared_consumer(topic, name).message_listener = collector
    alone = session.create_consumer(topic)
    send_texts(session, topic, *TEXTS)
    eventually(lambda: sum(len(collector.messages) for collector in collectors) >= COUNT)
    assert receive_texts(alone, COUNT) == TEXTS
    got = [int(text or "") for collector in collectors for text in collector.texts]
    assert sorted(got) == list(range(COUNT))


@rule("PY-1")
def test_order_priority_default_and_header(session: Session, queue: Queue) -> None:
    """The default priority is 4; 0 to 9 reach the receiver; that of the send overrides the producer's."""
    producer = session.create_producer(queue)
    consumer = session.create_consumer(queue)
    assert producer.priority == 4
    producer.send(session.create_text_message("default"))
    assert take(consumer).jms_priority == 4
    for priority in range(10):
        sent = session.create_text_message(str(priority))
        producer.priority = 9 - priority
        producer.send(sent, priority=priority)
        assert (sent.jms_priority, take(consumer).jms_priority) == (priority, priority)


@rule("PY-1")
@requires(Native.PRIORITY, native=True)
def test_order_priority_high_first(session: Session, queue: Queue) -> None:
    """Among waiting messages, priorities 5 to 9 are delivered before 0 to 4."""
    producer = session.create_producer(queue)
    for priority in (4, 1, 9, 0, 6, 4):
        producer.send(session.create_text_message(f"p{priority}"), priority=priority)
    consumer = session.create_consumer(queue)
    got: list[Message] = [take(consumer) for _ in range(6)]
    expedited = [message.jms_priority > 4 for message in got]
    assert expedited == [True, True, False, False, False, False]
    assert sorted(message.jms_priority for message in got) == [0, 1, 4, 4, 6, 9]


@rule("PY-1", "OR-1")
@requires(Native.PRIORITY)
def test_order_priority_same_level_is_fifo(session: Session, queue: Queue) -> None:
    """Within one priority the order of sending holds."""
    producer = session.create_producer(queue)
    for number in range(20):
        priority = 8 if number % 2 else 2
        producer.send(session.create_text_message(f"{priority}-{number:02}"), priority=priority)
    texts = receive_texts(session.create_consumer(queue), 20)
    assert [text for text in texts if text.startswith("8")] == [f"8-{number:02}" for number in range(1, 20, 2)]
    assert [text for text in texts if text.startswith("2")] == [f"2-{number:02}" for number in range(0, 20, 2)]


@rule("PY-1", "DM-2")
@pytest.mark.parametrize("priority", [-1, 10])
def test_order_priority_out_of_range(harness: Harness, session: Session, queue: Queue, priority: int) -> None:
    """Only 0 to 9 are priorities; nothing is sent with another one."""
    producer = session.create_producer(queue)
    with pytest.raises(JMSException):
        producer.send(session.create_text_message("a"), priority=priority)
    with pytest.raises(JMSRuntimeException):
        harness.context().create_producer().set_priority(priority)
    assert_empty(session.create_consumer(queue))


@rule("AS-3")
def test_order_of_futures(harness: Harness, session: Session, queue: Queue) -> None:
    """Futures and listeners of one session end in the order of the sends, whatever the destination."""
    producer, other = session.create_producer(None), harness.queue("other")
    ended: list[str] = []
    listener = Completions(lambda message: ended.append(str(message.jms_correlation_id)))
    texts = [str(number) for number in range(30)]
    for number, text in enumerate(texts):
        message = session.create_text_message(text)
        message.jms_correlation_id = text
        if number % 3:
            future = producer.send_async((queue, other)[number % 2], message)
            future.add_done_callback(lambda done: ended.append(str(done.result().jms_correlation_id)))
        else:
            producer.send(queue, message, completion_listener=listener)
    session.close()
    assert ended == texts


@rule("AS-3")
@pitfall(17)
def test_order_of_callbacks_across_destinations_and_producers(harness: Harness, session: Session, queue: Queue) -> None:
    """Callbacks follow the order of the sends of the session, across producers and destinations."""
    destinations = [queue, harness.queue("second"), harness.topic("third")]
    producers = [session.create_producer(destination) for destination in destinations]
    anonymous = session.create_producer(None)
    listener = Holding()
    messages = [session.create_text_message(str(number)) for number in range(40)]
    for number, message in enumerate(messages):
        if number % 4 == 3:
            anonymous.send(destinations[number % 3], message, completion_listener=listener)
        else:
            producers[number % 4].send(message, completion_listener=listener)
    listener.started()
    assert len(listener.events) == 1
    listener.release()
    listener.wait(40)
    assert listener.messages == messages


@rule("AS-3")
def test_order_of_callbacks_of_context(harness: Harness, queue: Queue) -> None:
    """The same for the producers of one JMSContext."""
    context = harness.context()
    listener = Completions()
    producers = [context.create_producer().set_async(listener) for _ in range(3)]
    queues = [queue, harness.queue("second")]
    messages = [context.create_text_message(str(number)) for number in range(30)]
    for number, message in enumerate(messages):
        producers[number % 3].send(queues[number % 2], message)
    listener.wait(30)
    assert listener.messages == messages


@rule("AS-3", "OR-2")
@pitfall(17)
def test_order_of_callbacks_with_sync_between(session: Session, queue: Queue) -> None:
    """A synchronous send between asynchronous ones neither waits for a callback nor changes the order."""
    producer = session.create_producer(queue)
    listener = Holding()
    send_async(session, producer, listener, "a", "b")
    listener.started()
    sync = run_thread(lambda: producer.send(session.create_text_message("c")))
    try:
        sync.result(LONG / 2)
    finally:
        listener.release()
    send_async(session, producer, listener, "d")
    listener.wait(3)
    assert receive_texts(session.create_consumer(queue), 4) == list("abcd")
