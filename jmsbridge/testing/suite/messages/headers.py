"""Header fields on both sides of the wire (Jakarta Messaging 3.1 sections 3.4 and 3.11; rules HD-1 to HD-13)."""

import time
from collections.abc import Callable

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    DeliveryMode,
    Destination,
    Message,
    MessageNotWriteableException,
    Queue,
    Session,
    TemporaryQueue,
    TemporaryTopic,
    TextMessage,
    Topic,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.messages.wire import receive_as, receive_message, round_trip
from jmsbridge.testing.suite.support import Completions, eventually


def now() -> int:
    """Milliseconds since the epoch, as header fields count."""
    return time.time_ns() // 1_000_000


class TheirQueue:
    """Another provider's queue, which that provider may set on our message."""


def spoil(message: Message) -> None:
    """Set all provider headers to values that no send of these cases produces."""
    message.jms_message_id = "ID:bogus"
    message.jms_timestamp = 1111
    message.jms_destination = TheirQueue()
    message.jms_delivery_mode = DeliveryMode.PERSISTENT
    message.jms_expiration = 2222
    message.jms_delivery_time = 3333
    message.jms_priority = 1
    message.jms_redelivered = True


PROVIDER_HEADERS = (
    "jms_message_id",
    "jms_timestamp",
    "jms_destination",
    "jms_delivery_mode",
    "jms_expiration",
    "jms_delivery_time",
    "jms_priority",
)


def provider_headers(message: Message) -> dict[str, object]:
    """The seven fields that a send fills in."""
    return {name: getattr(message, name) for name in PROVIDER_HEADERS}


def assert_sent_headers(message: Message, queue: Queue, before: int, after: int) -> None:
    """The caller's object after a send with priority 7, NON_PERSISTENT and one minute to live."""
    assert message.jms_message_id is not None
    assert message.jms_message_id.startswith("ID:")
    assert message.jms_message_id != "ID:bogus"
    assert before <= message.jms_timestamp <= after
    assert message.jms_destination == queue
    assert message.jms_delivery_mode == DeliveryMode.NON_PERSISTENT
    assert before + 60_000 <= message.jms_expiration <= after + 60_000
    assert before <= message.jms_delivery_time <= after
    assert message.jms_priority == 7


@rule("HD-1")
@pitfall(36)
def test_headers_set_by_the_client_for_the_provider_are_overwritten(session: Session, queue: Queue) -> None:
    """The producer's values override the message's, on the caller's object and at the consumer."""
    message = session.create_text_message("body")
    spoil(message)
    before = now()
    session.create_producer(queue).send(message, delivery_mode=DeliveryMode.NON_PERSISTENT, priority=7, time_to_live=60)
    assert_sent_headers(message, queue, before, now())
    received = receive_message(session.create_consumer(queue))
    assert provider_headers(received) == provider_headers(message)
    assert received.jms_redelivered is False


@rule("HD-1")
def test_headers_are_set_before_completion_is_called(session: Session, queue: Queue) -> None:
    """An asynchronous send has filled the caller's object in when the listener gets it."""
    seen: list[dict[str, object]] = []
    completions = Completions(on=lambda done: seen.append(provider_headers(done)))
    message = session.create_text_message("body")
    spoil(message)
    before = now()
    session.create_producer(queue).send(
        message,
        delivery_mode=DeliveryMode.NON_PERSISTENT,
        priority=7,
        time_to_live=60,
        completion_listener=completions,
    )
    assert [event[0] for event in completions.wait(1)] == ["completed"]
    eventually(lambda: seen)
    assert_sent_headers(message, queue, before, now())
    assert seen == [provider_headers(message)]


@rule("HD-2")
def test_headers_set_by_the_client_arrive(session: Session, queue: Queue, topic: Topic) -> None:
    """Correlation id, reply destination and type are the application's."""
    message = session.create_message()
    message.jms_correlation_id = "order-17"
    message.jms_reply_to = topic
    message.jms_type = "invoice"
    received = round_trip(session, queue, message)
    for side in (message, received):
        assert side.jms_correlation_id == "order-17"
        assert side.jms_reply_to == topic
        assert side.jms_type == "invoice"


@rule("HD-2")
def test_headers_context_producer_overrides_the_message(harness: Harness, queue: Queue, topic: Topic) -> None:
    """The values of a JMSProducer override the message's, on both sides."""
    context = harness.context()
    message = context.create_text_message("body")
    message.jms_correlation_id = "message's"
    message.jms_reply_to = queue
    message.jms_type = "message's"
    producer = context.create_producer().set_jms_correlation_id("producer's").set_jms_reply_to(topic)
    producer.set_jms_type("producer's").send(queue, message)
    received = context.create_consumer(queue).receive(timeout=5)
    assert received is not None
    for side in (message, received):
        assert side.jms_correlation_id == "producer's"
        assert side.jms_reply_to == topic
        assert side.jms_type == "producer's"


@rule("HD-2")
def test_headers_context_producer_without_values_leaves_the_message_alone(
    harness: Harness, queue: Queue, topic: Topic
) -> None:
    """A JMSProducer without own values overrides nothing."""
    context = harness.context()
    message = context.create_message()
    message.jms_correlation_id = "message's"
    message.jms_reply_to = topic
    message.jms_type = "message's"
    context.create_producer().send(queue, message)
    received = context.create_consumer(queue).receive(timeout=5)
    assert received is not None
    assert (received.jms_correlation_id, received.jms_reply_to, received.jms_type) == ("message's", topic, "message's")


@rule("HD-3")
def test_headers_message_ids_are_prefixed_and_unique(harness: Harness, queue: Queue) -> None:
    """Each send has its own message id: of the same object, of different sessions and of different connections."""
    ids: list[str | None] = []
    first = harness.connect()
    for session in (first.create_session(), first.create_session(), harness.connect().create_session()):
        message = session.create_text_message("again and again")
        producer = session.create_producer(queue)
        for _ in range(5):
            producer.send(message)
            ids.append(message.jms_message_id)
    assert all(identity is not None and identity.startswith("ID:") for identity in ids)
    assert len(set(ids)) == 15
    consumer = first.create_session().create_consumer(queue)
    assert [receive_message(consumer).jms_message_id for _ in ids] == ids


@rule("HD-3")
def test_headers_disabled_message_id_is_absent_or_valid(session: Session, queue: Queue) -> None:
    """The hint may be taken or not; an id that is there is a real one, the same on both sides."""
    producer = session.create_producer(queue)
    consumer = session.create_consumer(queue)
    message = session.create_message()
    message.jms_message_id = "ID:bogus"
    producer.disable_message_id = True
    producer.send(message)
    received = receive_message(consumer)
    assert received.jms_message_id == message.jms_message_id != "ID:bogus"
    assert message.jms_message_id is None or message.jms_message_id.startswith("ID:")
    producer.disable_message_id = False
    producer.send(message)
    assert message.jms_message_id is not None
    assert receive_message(consumer).jms_message_id == message.jms_message_id


@rule("HD-4")
def test_headers_timestamp_lies_within_the_send_call(session: Session, queue: Queue) -> None:
    """The timestamp is the wall clock at the send, not at the delivery."""
    message = session.create_message()
    before = now()
    session.create_producer(queue).send(message)
    after = now()
    received = receive_message(session.create_consumer(queue))
    assert before <= message.jms_timestamp <= after
    assert received.jms_timestamp == message.jms_timestamp


@rule("HD-4")
def test_headers_disabled_timestamp_is_zero_or_true(session: Session, queue: Queue) -> None:
    """The hint may be taken or not; a timestamp that is there is true, and both sides agree."""
    producer = session.create_producer(queue)
    producer.disable_message_timestamp = True
    message = session.create_message()
    message.jms_timestamp = 1111
    before = now()
    producer.send(message)
    assert message.jms_timestamp == 0 or before <= message.jms_timestamp <= now()
    assert receive_message(session.create_consumer(queue)).jms_timestamp == message.jms_timestamp


@rule("HD-5")
@pitfall(36)
def test_headers_expiration_is_send_time_plus_ttl(session: Session, queue: Queue) -> None:
    """Both sides read the same millisecond, computed from the call."""
    producer = session.create_producer(queue)
    producer.time_to_live = 30
    message = session.create_message()
    message.jms_expiration = 1
    before = now()
    producer.send(message)
    after = now()
    received = receive_message(session.create_consumer(queue))
    assert before + 30_000 <= message.jms_expiration <= after + 30_000
    assert received.jms_expiration == message.jms_expiration


@rule("HD-5")
def test_headers_expiration_is_zero_without_ttl(session: Session, queue: Queue) -> None:
    """The expiration of a message without time to live is 0, whatever the client set."""
    message = session.create_message()
    message.jms_expiration = 1
    received = round_trip(session, queue, message)
    assert (message.jms_expiration, received.jms_expiration) == (0, 0)


@rule("HD-6")
@requires(Native.DELAY)
def test_headers_delivery_time_is_send_time_plus_delay(session: Session, queue: Queue) -> None:
    """Both sides read the same delivery time, and nothing comes before it."""
    producer = session.create_producer(queue)
    producer.delivery_delay = 0.3
    message = session.create_message()
    before = now()
    producer.send(message)
    after = now()
    received = receive_message(session.create_consumer(queue))
    assert before + 300 <= message.jms_delivery_time <= after + 300
    assert received.jms_delivery_time == message.jms_delivery_time <= now()


@rule("HD-5", "HD-6")
@requires(Native.TRANSACTIONS)
def test_headers_expiration_and_delivery_time_count_from_send_in_a_transaction(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """A commit changes no header: times are those of the send."""
    transacted = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    message = transacted.create_text_message("held")
    before = now()
    transacted.create_producer(queue).send(message, time_to_live=60)
    after = now()
    sent = provider_headers(message)
    consumer = session.create_consumer(queue)
    assert consumer.receive(timeout=0.05) is None
    transacted.commit()
    received = receive_message(consumer)
    assert before + 60_000 <= message.jms_expiration <= after + 60_000
    assert before <= message.jms_delivery_time <= after
    assert provider_headers(message) == sent == provider_headers(received)


@rule("HD-5", "HD-6")
def test_headers_async_sends_fix_times_at_the_call(session: Session, queue: Queue) -> None:
    """Headers are computed from the time of the send call, not of the confirmation."""
    completions = Completions()
    message = session.create_text_message("later")
    before = now()
    session.create_producer(queue).send(message, time_to_live=60, completion_listener=completions)
    after = now()
    completions.wait(1)
    received = receive_message(session.create_consumer(queue))
    assert before + 60_000 <= received.jms_expiration <= after + 60_000
    assert before <= received.jms_delivery_time <= after
    assert provider_headers(message) == provider_headers(received)


@rule("HD-7")
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_headers_destination_comes_back_equal(harness: Harness, session: Session, kind: str) -> None:
    """A consumer can compare the destination with its own, kind included."""
    destination: Destination = harness.queue() if kind == "queue" else harness.topic()
    received = round_trip(session, destination, session.create_message())
    assert received.jms_destination == destination
    assert hash(received.jms_destination) == hash(destination)
    assert isinstance(received.jms_destination, Queue if kind == "queue" else Topic)


REPLY_KINDS: dict[str, tuple[type[Destination], Callable[[Harness, Session], Destination]]] = {
    "queue": (Queue, lambda harness, session: harness.queue()),
    "topic": (Topic, lambda harness, session: harness.topic()),
    "temporary-queue": (TemporaryQueue, lambda harness, session: session.create_temporary_queue()),
    "temporary-topic": (TemporaryTopic, lambda harness, session: session.create_temporary_topic()),
}


@rule("HD-7")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=requires(Native.TEMPORARY)) if kind.startswith("temporary") else kind
        for kind in REPLY_KINDS
    ],
)
def test_headers_reply_to_keeps_its_kind(harness: Harness, session: Session, queue: Queue, kind: str) -> None:
    """A reply-to arrives with its kind of destination, and replies to it arrive."""
    expected, create = REPLY_KINDS[kind]
    reply_to = create(harness, session)
    replies = session.create_consumer(reply_to)
    message = session.create_message()
    message.jms_reply_to = reply_to
    received = round_trip(session, queue, message)
    assert type(received.jms_reply_to) is expected
    assert received.jms_reply_to == reply_to
    other = harness.connect().create_session()
    other.create_producer(received.jms_reply_to).send(other.create_text_message("answer"))
    assert receive_as(TextMessage, replies).text == "answer"


@rule("HD-8")
@requires(Native.TRANSACTIONS)
def test_headers_redelivered_is_false_first_then_true(harness: Harness, session: Session, queue: Queue) -> None:
    """JMSRedelivered is false at first, whatever the sender set, and true after a rollback."""
    message = session.create_message()
    message.jms_redelivered = True
    session.create_producer(queue).send(message)
    transacted = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = transacted.create_consumer(queue)
    flags = []
    for _ in range(3):
        flags.append(receive_message(consumer).jms_redelivered)
        transacted.rollback()
    assert flags == [False, True, True]


@rule("HD-9")
def test_headers_of_a_received_message_stay_writable(session: Session, queue: Queue, topic: Topic) -> None:
    """Headers of a received message change the local object; properties and body refuse."""
    message = session.create_text_message("body")
    message.set_int_property("number", 1)
    received = round_trip(session, queue, message)
    received.jms_message_id = "ID:local"
    received.jms_timestamp = 1
    received.jms_destination = topic
    received.jms_delivery_mode = DeliveryMode.NON_PERSISTENT
    received.jms_expiration = 2
    received.jms_delivery_time = 3
    received.jms_priority = 9
    received.jms_redelivered = True
    received.jms_correlation_id = "local"
    received.jms_reply_to = topic
    received.jms_type = "local"
    changed = ["ID:local", 1, topic, DeliveryMode.NON_PERSISTENT, 2, 3, 9]
    assert list(provider_headers(received).values()) == changed
    assert received.jms_redelivered is True
    assert (received.jms_correlation_id, received.jms_reply_to, received.jms_type) == ("local", topic, "local")
    with pytest.raises(MessageNotWriteableException):
        received.set_int_property("number", 2)
    with pytest.raises(MessageNotWriteableException):
        received.text = "other"


@rule("HD-10")
def test_headers_show_the_effective_priority(session: Session, queue: Queue) -> None:
    """Both sides read the arguments of the send, not the values of the producer or the message."""
    producer = session.create_producer(queue)
    producer.priority = 3
    message = session.create_message()
    message.jms_priority = 8
    producer.send(message)
    assert message.jms_priority == 3
    producer.send(message, priority=6)
    assert message.jms_priority == 6
    consumer = session.create_consumer(queue)
    assert sorted(receive_message(consumer).jms_priority for _ in range(2)) == [3, 6]


@rule("HD-10")
def test_headers_show_the_effective_delivery_mode(session: Session, queue: Queue) -> None:
    """Both sides read the mode of the send. PERSISTENT_GROUPACK is a way to send a PERSISTENT message."""
    producer, consumer = session.create_producer(queue), session.create_consumer(queue)
    for mode in DeliveryMode:
        message = session.create_message()
        producer.send(message, delivery_mode=mode)
        effective = min(mode, DeliveryMode.PERSISTENT)
        assert (message.jms_delivery_mode, receive_message(consumer).jms_delivery_mode) == (effective, effective)


@rule("HD-11")
def test_headers_sent_message_may_be_changed_and_sent_again(session: Session, queue: Queue) -> None:
    """Each send takes a copy; the message object can be changed and sent again."""
    producer = session.create_producer(queue)
    message = session.create_text_message("first")
    message.set_int_property("number", 1)
    message.jms_correlation_id = "one"
    producer.send(message)
    first_id = message.jms_message_id
    message.text = "second"
    message.set_int_property("number", 2)
    message.jms_correlation_id = "two"
    producer.send(message)
    message.text = "third"
    message.clear_properties()
    consumer = session.create_consumer(queue)
    received = [receive_as(TextMessage, consumer) for _ in range(2)]
    assert [one.text for one in received] == ["first", "second"]
    assert [one.get_int_property("number") for one in received] == [1, 2]
    assert [one.jms_correlation_id for one in received] == ["one", "two"]
    assert [one.jms_message_id for one in received] == [first_id, message.jms_message_id]


@rule("HD-12")
@requires(Native.TRANSACTIONS)
def test_headers_redelivery_brings_the_original(harness: Harness, session: Session, queue: Queue) -> None:
    """After a rollback the original message is redelivered, whatever the consumer changed in its copy."""
    message = session.create_text_message("original")
    message.set_string_property("colour", "red")
    message.jms_correlation_id = "original"
    session.create_producer(queue).send(message, priority=6)
    transacted = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = transacted.create_consumer(queue)
    copy = receive_as(TextMessage, consumer)
    copy.clear_body()
    copy.clear_properties()
    copy.text = "changed"
    copy.set_string_property("colour", "blue")
    copy.jms_correlation_id = "changed"
    copy.jms_priority = 1
    transacted.rollback()
    again = receive_as(TextMessage, consumer)
    assert again.text == "original"
    assert again.get_string_property("colour") == "red"
    assert again.jms_correlation_id == "original"
    assert provider_headers(again) == provider_headers(message)
    assert (again.jms_redelivered, again.get_int_property("JMSXDeliveryCount")) == (True, 2)
    transacted.commit()


@rule("HD-13")
def test_headers_bytes_correlation_id_is_copied_and_transported(session: Session, queue: Queue) -> None:
    """A native correlation id may be any bytes, and is a copy of what was given."""
    native = bytearray(b"\x00\x7f\x80\xff")
    message = session.create_message()
    message.jms_correlation_id_as_bytes = native
    native[0] = 0x55
    assert message.jms_correlation_id_as_bytes == b"\x00\x7f\x80\xff"
    assert round_trip(session, queue, message).jms_correlation_id_as_bytes == b"\x00\x7f\x80\xff"
