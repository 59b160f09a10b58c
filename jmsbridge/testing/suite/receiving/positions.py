"""``Connection.positions``: messages are read without consuming them, or refused where the broker keeps no log."""

import json

import pytest

from jmsbridge import Connection, InvalidDestination, JMSException, MessagePositions, Queue, UnsupportedFeature
from jmsbridge.spi.positions import Positions
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.suite.support import eventually, options, receive_texts, send_texts, text_of


def _positions(harness: Harness, connection: Connection) -> MessagePositions:
    if isinstance(harness.open_link(), Positions):
        return connection.positions
    with pytest.raises(UnsupportedFeature):
        _ = connection.positions
    pytest.skip("refused, as it must be: links of this backend have no Positions")


def test_pos_reads_messages_and_leaves_them(harness: Harness, connection: Connection, queue: Queue) -> None:
    positions = _positions(harness, connection)
    session = connection.create_session()
    sent = session.create_text_message("first")
    sent.set_int_property("n", 7)
    sent.jms_correlation_id = "c"
    session.create_producer(queue).send(sent)
    send_texts(session, queue, "second")
    (lane,) = positions.lanes(queue)
    found = list(positions.read(queue, lane))
    assert [text_of(each.message) for each in found] == ["first", "second"]
    message = found[0].message
    assert message.jms_message_id == sent.jms_message_id
    assert (message.get_int_property("n"), message.jms_correlation_id) == (7, "c")
    assert message.jms_destination == queue
    assert (message.jms_redelivered, message.get_int_property("JMSXDeliveryCount")) == (False, 1)
    assert receive_texts(session.create_consumer(queue), 2) == ["first", "second"]


def test_pos_are_texts_that_another_connection_can_use(harness: Harness, connection: Connection, queue: Queue) -> None:
    positions = _positions(harness, connection)
    session = connection.create_session()
    send_texts(session, queue, "a", "b", "c")
    (lane,) = positions.lanes(queue)
    first, last = positions.first(queue, lane), positions.last(queue, lane)
    middle = positions.skip(queue, lane, first, 1, last).position
    kept = json.loads(json.dumps([first, middle, last]))
    other = harness.connect(start=False).positions
    assert other.compare(middle, kept[0]) > 0 == other.compare(middle, kept[1]) > other.compare(middle, kept[2])
    assert [text_of(each.message) for each in other.read(queue, lane, kept[1], kept[2])] == ["b", "c"]
    assert [text_of(each.message) for each in other.read(queue, lane, end=kept[1])] == ["a"]
    assert list(other.read(queue, lane, kept[2], kept[0])) == []


def test_pos_work_in_a_context_with_its_errors(harness: Harness, connection: Connection, queue: Queue) -> None:
    import jmsbridge

    _positions(harness, connection)
    with jmsbridge.context(harness.url, **options(harness)) as context:
        context.create_producer().send(queue, "a")
        (lane,) = context.positions.lanes(queue)
        assert [text_of(each.message) for each in context.positions.read(queue, lane)] == ["a"]
        with pytest.raises(InvalidDestination) as caught:
            context.positions.first(queue, "no lane")
        assert not isinstance(caught.value, JMSException)


def test_pos_outlive_a_lost_link(harness: Harness, connection: Connection, queue: Queue) -> None:
    positions = _positions(harness, connection)
    send_texts(connection.create_session(), queue, "a", "b")
    (lane,) = positions.lanes(queue)
    first, last = positions.first(queue, lane), positions.last(queue, lane)
    reading = positions.read(queue, lane, first, last)
    assert text_of(next(reading).message) == "a"
    reading.close()
    harness.cut()

    def read() -> bool:
        try:
            return len(list(positions.read(queue, lane, first, last))) == 2
        except JMSException:
            return False

    eventually(read)
