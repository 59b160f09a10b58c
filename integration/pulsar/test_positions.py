"""``Connection.positions`` on Pulsar: entries with several messages, partitions, ledgers that the broker removes."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from jmsbridge import Connection, InvalidDestination, JMSException, MessagePositions, Queue, Topic
from jmsbridge.testing.suite.support import eventually, send_texts, text_of

__all__ = ["connect", "name"]

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

Connect = Callable[..., Connection]


def _url(pulsar: Broker) -> str:
    return f"{pulsar.url()}?single_address=true&admin_url={pulsar.url('http')}"


def _path(name: str) -> str:
    return f"/admin/v2/persistent/public/default/{quote(name, safe='')}"


def _texts(positions: MessagePositions, place: Queue | Topic, lane: str, *ends: str) -> list[str]:
    return [text_of(each.message) for each in positions.read(place, lane, *ends)]


def _roll_over(pulsar: Broker, name: str) -> None:
    """The next message gets a new ledger."""
    pulsar.admin.put(f"{_path(name)}/unload")


def _truncate(pulsar: Broker, name: str) -> None:
    """Remove all messages: a ledger that is written to would stay."""
    _roll_over(pulsar, name)
    pulsar.admin.delete(f"{_path(name)}/truncate")


def test_messages_of_one_entry_are_apart(pulsar: Broker, connect: Connect, name: str) -> None:
    connection = connect(_url(pulsar))
    session, place, positions = connection.create_session(), Queue(name), connection.positions
    producer = session.create_producer(place)
    sent = [producer.send_async(session.create_text_message(str(number))) for number in range(50)]
    for each in sent:
        each.result(30)
    found = list(positions.read(place, "0"))
    assert [text_of(each.message) for each in found] == [str(number) for number in range(50)]
    entries = {each.position.rpartition(":")[0] for each in found}
    assert 1 <= len(entries) < 50
    for number in (0, 1, 24, 48):
        start = found[number].position
        assert _texts(positions, place, "0", start) == [str(later) for later in range(number + 1, 50)]
        assert positions.skip(place, "0", start, 1) == (found[number + 1].position, 1)
    assert positions.last(place, "0") == found[-1].position


def test_each_partition_is_a_lane(pulsar: Broker, connect: Connect, name: str) -> None:
    pulsar.admin.put(f"{_path(name)}/partitions", 3)
    connection = connect(_url(pulsar))
    session, place, positions = connection.create_session(), Topic(name), connection.positions
    for number in (0, 2):
        send_texts(session, Topic(f"persistent://public/default/{name}-partition-{number}"), f"{number}a", f"{number}b")
    assert positions.lanes(place) == ["0", "1", "2"]
    assert [_texts(positions, place, lane) for lane in "012"] == [["0a", "0b"], [], ["2a", "2b"]]
    assert _texts(positions, place, "2", positions.skip(place, "2", positions.first(place, "2"), 1).position) == ["2b"]
    with pytest.raises(InvalidDestination):
        positions.first(place, "3")
    pulsar.admin.post(f"{_path(name)}/partitions", 4)
    eventually(lambda: positions.lanes(place) == [*"0123"])
    assert _texts(positions, place, "3") == []


def test_a_range_goes_over_ledgers(pulsar: Broker, connect: Connect, name: str) -> None:
    connection = connect(_url(pulsar))
    session, place, positions = connection.create_session(), Queue(name), connection.positions
    ends = [positions.first(place, "0")]
    for number in range(3):
        send_texts(session, place, f"{number}a", f"{number}b")
        ends.append(positions.last(place, "0"))
        _roll_over(pulsar, name)
    assert len({end.partition(":")[0] for end in ends[1:]}) == 3
    assert _texts(positions, place, "0", ends[1], ends[3]) == ["1a", "1b", "2a", "2b"]
    assert _texts(positions, place, "0", ends[0], ends[2]) == ["0a", "0b", "1a", "1b"]


def test_removed_messages_are_an_error_not_a_shorter_range(pulsar: Broker, connect: Connect, name: str) -> None:
    connection = connect(_url(pulsar))
    session, place, positions = connection.create_session(), Topic(name), connection.positions
    send_texts(session, place, "a", "b")
    first, last = positions.first(place, "0"), positions.last(place, "0")
    _truncate(pulsar, name)
    with pytest.raises(JMSException, match="are gone, or may be") as caught:
        _texts(positions, place, "0", first, last)
    assert caught.value.error_code == "PositionLost"
    assert positions.first(place, "0") == positions.last(place, "0")
    send_texts(session, place, "c")
    later = positions.last(place, "0")
    assert positions.compare(last, later) < 0
    with pytest.raises(JMSException, match="are gone, or may be"):
        _texts(positions, place, "0", last, later)
    with pytest.raises(JMSException, match="are gone, or may be"):
        positions.skip(place, "0", first, 1)
    assert _texts(positions, place, "0") == ["c"]


def test_a_terminated_topic_is_read_to_its_end(pulsar: Broker, connect: Connect, name: str) -> None:
    connection = connect(_url(pulsar))
    place, positions = Topic(name), connection.positions
    send_texts(connection.create_session(), place, "a", "b")
    pulsar.admin.post(f"{_path(name)}/terminate")
    assert _texts(positions, place, "0") == ["a", "b"]
    assert positions.skip(place, "0", positions.first(place, "0"), 9) == (positions.last(place, "0"), 2)


def test_a_deleted_topic_that_comes_again_is_not_the_same(pulsar: Broker, connect: Connect, name: str) -> None:
    connection = connect(_url(pulsar))
    place, positions = Topic(name), connection.positions
    send_texts(connection.create_session(), place, "a", "b")
    first, last = positions.first(place, "0"), positions.last(place, "0")
    connection.close()
    pulsar.admin.delete(f"{_path(name)}?force=true")
    connection = connect(_url(pulsar))
    positions = connection.positions
    send_texts(connection.create_session(), place, "c", "d", "e")
    with pytest.raises(JMSException, match="are gone, or may be"):
        _texts(positions, place, "0", first, last)
    with pytest.raises(JMSException, match="are gone, or may be"):
        _texts(positions, place, "0", last, positions.last(place, "0"))


def test_positions_survive_a_restart_of_the_broker(own_broker: Callable[[str], Broker], connect: Connect) -> None:
    pulsar = own_broker("pulsar")
    connection = connect(_url(pulsar))
    place = Queue("orders")
    send_texts(connection.create_session(), place, "a", "b")
    first, last = connection.positions.first(place, "0"), connection.positions.last(place, "0")
    connection.close()
    pulsar.restart()
    positions = connect(_url(pulsar)).positions
    assert _texts(positions, place, "0", first, last) == ["a", "b"]
    assert positions.compare(last, positions.last(place, "0")) == 0


@pytest.mark.parametrize("fails", [True, False])
def test_a_query_of_spark_ends_or_goes_on_where_messages_are_gone(
    pulsar: Broker, connect: Connect, name: str, fails: bool
) -> None:
    """Option failOnDataLoss with offsets=native, as the driver and the tasks of a query use it."""
    pytest.importorskip("pyarrow")
    from jmsbridge.spark.position_options import position_options
    from jmsbridge.spark.ranges import Range, Ranges, _connections, rows_of_range

    session, place = connect(_url(pulsar)).create_session(), Topic(name)
    send_texts(session, place, "a", "b")
    given = {"url": _url(pulsar), "topic": name, "offsets": "native", "failOnDataLoss": str(fails).lower()}
    options = position_options(given)
    ranges = Ranges(options)
    try:
        begin = ranges.first("0")
        _truncate(pulsar, name)
        send_texts(session, place, "c", "d")
        end = ranges.last("0")
        part = Range("0", 0, begin, end)
        if fails:
            with pytest.raises(JMSException, match="are gone, or may be"):
                ranges.steps("0", begin, 100, 1, None)
            with pytest.raises(JMSException, match="are gone, or may be"):
                list(rows_of_range(options, ["body"], part))
        else:
            assert ranges.steps("0", begin, 100, 1, None) == ([end], 2)
            bodies = [body for batch in rows_of_range(options, ["body"], part) for body in batch["body"].to_pylist()]
            assert bodies == [b"c", b"d"]
    finally:
        ranges.close()
        _connections.forget(options)  # a worker of Spark keeps it for its next task
