"""Contract: the channels of a link that only send, of which several may be in use for groups of sends."""

import pytest

from jmsbridge.spi.backend import Channel, Lanes, Link
from jmsbridge.spi.envelope import Address
from jmsbridge.spi.errors import BackendError, LinkLost
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness, LinkLog
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import Answer, answered, envelope, fetch, peek
from jmsbridge.testing.suite.support import LONG, eventually

_COUNT = 20


def _lanes(link: Link) -> list[Channel]:
    """All that are worth having."""
    if not isinstance(link, Lanes):
        pytest.skip("this link has no lanes: groups of sends have one channel")
    return [link.lane(number) for number in range(link.lanes)]


def _send(channel: Channel, address: Address, texts: list[str]) -> list[Answer]:
    answers = [Answer() for _ in texts]
    for text, answer in zip(texts, answers, strict=True):
        channel.send(envelope(address, text), answer)
    return answers


def _commit(channel: Channel) -> BackendError | None:
    answer = Answer()
    channel.commit(answer)
    return answer.outcome(LONG)


@level("contract")
@promise(Lanes.lane)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_lanes_commit_in_the_order_of_their_answers(harness: Harness) -> None:
    """All are sent before the first commit; what is committed later comes later, whatever was sent first."""
    address, link = harness.address(), harness.open_link()
    lanes = _lanes(link)
    for turn in range(3):
        order = list(enumerate(lanes))[::-1] if turn % 2 else list(enumerate(lanes))
        texts = [[f"{turn} {number} {each}" for each in range(_COUNT)] for number in range(len(lanes))]
        answers = [_send(lane, address, texts[number]) for number, lane in enumerate(lanes)]
        assert peek(link, address) == []
        for number, lane in order:
            assert _commit(lane) is None
            assert answered(answers[number], LONG)
        expected = [text for number, _ in order for text in texts[number]]
        assert fetch(link, address, len(expected)) == expected


@level("contract")
@promise(Lanes.lane)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_lanes_roll_back_when_they_are_closed(harness: Harness) -> None:
    """One by one: the others are not affected."""
    address, link = harness.address(), harness.open_link()
    lanes = _lanes(link)
    for number, lane in enumerate(lanes):
        _send(lane, address, [str(number)] * _COUNT)
    for lane in lanes[1:]:
        lane.close()
    assert _commit(lanes[0]) is None
    assert fetch(link, address, _COUNT) == ["0"] * _COUNT
    assert peek(link, address) == []


@level("contract")
@promise(Lanes.lane)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_lanes_end_with_their_link(harness: Harness) -> None:
    """What was not committed is not there, and every verb fails."""
    address, log = harness.address(), LinkLog()
    link = harness.open_link(log)
    lanes = _lanes(link)
    answers = [_send(lane, address, ["lost"]) for lane in lanes]
    harness.cut()
    eventually(lambda: log.losses)
    for lane in lanes:
        eventually(lambda: isinstance(_commit(lane), LinkLost))  # noqa: B023 (called at once)
    assert all(answered(each, LONG) for each in answers)
    assert peek(harness.open_link(), address) == []


@level("contract")
@promise(Lanes.lane)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_lanes_are_closed_with_their_link(harness: Harness) -> None:
    address, link = harness.address(), harness.open_link()
    lanes = _lanes(link)
    for lane in lanes:
        _send(lane, address, ["never"])
    link.close()
    for lane in lanes:
        answer = Answer()
        lane.commit(answer)
        assert isinstance(answer.outcome(LONG), LinkLost)
    assert peek(harness.open_link(), address) == []
