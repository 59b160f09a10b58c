"""Contract: a destination is read from one position to another, where links offer ``Positions``."""

import itertools
import time
from collections.abc import Sequence

import pytest

from jmsbridge.spi.backend import Link
from jmsbridge.spi.envelope import Address, Outcome
from jmsbridge.spi.errors import AddressRefused, BackendError, LinkLost
from jmsbridge.spi.positions import Positioned, Positions
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise
from jmsbridge.testing.suite.contract.support import envelope, fetch, hold, send, send_texts_to, settle
from jmsbridge.testing.suite.support import eventually

_ALL = 1_000_000


def _of(link: Link) -> Positions:
    if not isinstance(link, Positions):
        pytest.skip("links of this backend have no Positions: their broker forgets what was consumed")
    return link


def _lane(positions: Positions, address: Address) -> str:
    """The only one, in which messages have one order."""
    lanes = positions.lanes(address)
    if len(lanes) > 1:
        pytest.skip("a new destination of this broker has several lanes")
    return lanes[0]


def _read(positions: Positions, address: Address, start: str, end: str, most: int = _ALL) -> list[Positioned]:
    """All messages of a range."""
    reading = positions.read(address, _lane(positions, address), start, end, most)
    found: list[Positioned] = []
    try:
        while taken := reading.take():
            assert len(taken) <= most
            found += taken
        assert not reading.take()
    finally:
        reading.close()
    return found


def _everything(positions: Positions, address: Address) -> list[Positioned]:
    lane = _lane(positions, address)
    return _read(positions, address, positions.first(address, lane), positions.last(address, lane))


def _bodies(found: Sequence[Positioned]) -> list[object]:
    return [each.envelope.body for each in found]


def _linked(harness: Harness, *, topic: bool = False) -> tuple[Link, Positions, Address, str]:
    link = harness.open_link()
    positions = _of(link)
    address = harness.address(topic=topic)
    return link, positions, address, _lane(positions, address)


@level("contract")
@promise(Positions.first)
def test_contract_positions_of_an_empty_lane_are_before_what_comes(harness: Harness) -> None:
    link, positions, address, lane = _linked(harness)
    first, last = positions.first(address, lane), positions.last(address, lane)
    assert positions.compare(first, last) == 0
    assert _read(positions, address, first, last) == []
    send_texts_to(link, address, "a", "b")
    assert _bodies(_read(positions, address, first, positions.last(address, lane))) == ["a", "b"]


@level("contract")
@promise(Positions.read)
@pytest.mark.parametrize("topic", [False, True], ids=["queue", "topic"])
def test_contract_positions_read_everything_in_order_each_time(harness: Harness, topic: bool) -> None:
    link, positions, address, lane = _linked(harness, topic=topic)
    texts = [str(number) for number in range(10)]
    send_texts_to(link, address, *texts)
    found = _everything(positions, address)
    assert _bodies(found) == texts
    places = [positions.first(address, lane), *(each.after for each in found)]
    assert all(positions.compare(one, other) < 0 for one, other in itertools.pairwise(places))
    assert all(positions.compare(other, one) > 0 for one, other in itertools.pairwise(places))
    assert positions.compare(places[-1], positions.last(address, lane)) == 0
    assert _everything(positions, address) == found


@level("contract")
@promise(Positions.read)
def test_contract_positions_bound_every_range(harness: Harness) -> None:
    """Also between messages that were sent together."""
    link, positions, address, lane = _linked(harness)
    texts = [str(number) for number in range(6)]
    send_texts_to(link, address, *texts[:2])
    channel = link.channel(False)
    send(channel, *(envelope(address, text) for text in texts[2:]))
    places = [positions.first(address, lane), *(each.after for each in _everything(positions, address))]
    for start, end in itertools.product(range(len(places)), repeat=2):
        assert _bodies(_read(positions, address, places[start], places[end])) == texts[start:end], (start, end)


@level("contract")
@promise(Positions.read)
@pytest.mark.parametrize("most", [1, 3, 10])
def test_contract_positions_read_at_most_so_many_at_a_time(harness: Harness, most: int) -> None:
    link, positions, address, lane = _linked(harness)
    texts = [str(number) for number in range(10)]
    send_texts_to(link, address, *texts)
    found = _read(positions, address, positions.first(address, lane), positions.last(address, lane), most)
    assert _bodies(found) == texts


@level("contract")
@promise(Positions.read)
def test_contract_positions_show_what_was_consumed_and_take_nothing(harness: Harness) -> None:
    link, positions, address, _ = _linked(harness)
    send_texts_to(link, address, "consumed", "held", "waiting")
    channel = link.channel(False)
    subscription, box = hold(channel, address, 2)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    assert _bodies(_everything(positions, address)) == ["consumed", "held", "waiting"]
    settle(subscription, box.tokens[1:2], Outcome.ACCEPTED)
    settle(subscription, box.tokens[2:], Outcome.RELEASED)
    subscription.close()
    channel.close()
    assert fetch(link, address, 1) == ["waiting"]


@level("contract")
@promise(Positions.read)
def test_contract_positions_show_delayed_and_expired_messages(harness: Harness) -> None:
    link, positions, address, _ = _linked(harness)
    now = time.time_ns() // 1_000_000
    expired = envelope(address, "expired", expiration=now + 1)
    delayed = envelope(address, "delayed", delivery_time=now + 3_600_000)
    channel = link.channel(False)
    send(channel, expired, delayed)
    eventually(lambda: time.time_ns() // 1_000_000 > now + 1)
    assert sorted(map(str, _bodies(_everything(positions, address)))) == ["delayed", "expired"]


@level("contract")
@promise(Positions.last)
def test_contract_positions_of_later_messages_are_behind(harness: Harness) -> None:
    link, positions, address, lane = _linked(harness)
    send_texts_to(link, address, "early")
    before = positions.last(address, lane)
    send_texts_to(link, address, "late")
    after = positions.last(address, lane)
    assert positions.compare(before, after) < 0
    assert _bodies(_read(positions, address, before, after)) == ["late"]


@level("contract")
@promise(Positions.compare)
def test_contract_positions_are_valid_on_other_links(harness: Harness) -> None:
    link, positions, address, lane = _linked(harness)
    send_texts_to(link, address, "a", "b", "c")
    start = positions.skip(address, lane, positions.first(address, lane), 1).after
    end = positions.last(address, lane)
    link.close()
    other = _of(harness.open_link())
    assert other.compare(start, end) < 0
    assert _bodies(_read(other, address, start, end)) == ["b", "c"]


@level("contract")
@promise(Positions.skip)
def test_contract_positions_skip_messages(harness: Harness) -> None:
    link, positions, address, lane = _linked(harness)
    send_texts_to(link, address, "a", "b", "c")
    places = [positions.first(address, lane), *(each.after for each in _everything(positions, address))]
    skips = ((0, 1, None), (0, 3, None), (0, 9, None), (1, 2, None), (3, 1, None), (0, 9, 2), (0, 1, 2), (2, 1, 1))
    for start, most, end in skips:
        to = None if end is None else places[end]
        found, count = positions.skip(address, lane, places[start], most, to)
        expected = max(start, min(start + most, 3 if end is None else end))
        assert positions.compare(found, places[expected]) == 0, (start, most, end)
        assert count == expected - start


@level("contract")
@promise(Positions.compare)
def test_contract_positions_are_texts_of_their_broker(harness: Harness) -> None:
    _, positions, address, lane = _linked(harness)
    last = positions.last(address, lane)
    for text in ("", "no position", f"{last}x"):
        with pytest.raises(BackendError):
            positions.compare(text, last)
        with pytest.raises(BackendError):
            positions.read(address, lane, last, text, 1)


@level("contract")
@promise(Positions.lanes)
def test_contract_positions_of_an_unknown_lane_are_refused(harness: Harness) -> None:
    _, positions, address, lane = _linked(harness)
    last = positions.last(address, lane)
    for verb in (positions.first, positions.last):
        with pytest.raises(AddressRefused):
            verb(address, "no lane")
    with pytest.raises(AddressRefused):
        positions.skip(address, "no lane", last, 1)


@level("contract")
@promise(Positions.read)
def test_contract_positions_reading_ends_when_it_is_closed(harness: Harness) -> None:
    link, positions, address, lane = _linked(harness)
    send_texts_to(link, address, "a", "b")
    reading = positions.read(address, lane, positions.first(address, lane), positions.last(address, lane), 1)
    assert _bodies(reading.take()) == ["a"]
    reading.close()
    reading.close()
    with pytest.raises(BackendError):
        reading.take()
    with pytest.raises(BackendError):  # again: it must not look as if the end were reached
        reading.take()


@level("contract")
@promise(7)
def test_contract_positions_of_a_lost_link_fail(harness: Harness) -> None:
    link, positions, address, lane = _linked(harness)
    send_texts_to(link, address, *map(str, range(10)))
    first, last = positions.first(address, lane), positions.last(address, lane)
    reading = positions.read(address, lane, first, last, 1)
    assert _bodies(reading.take()) == ["0"]
    harness.cut()

    def is_lost() -> bool:
        try:
            positions.last(address, lane)
        except LinkLost:
            return True
        return False

    eventually(is_lost)
    with pytest.raises(LinkLost):
        reading.take()
    reading.close()
    with pytest.raises(LinkLost):
        positions.read(address, lane, first, last, 1)
