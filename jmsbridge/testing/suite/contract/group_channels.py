"""Contract: the channels of a link that only send, of which several may be in use for groups of sends."""

import pytest

from jmsbridge.spi.backend import Channel, GroupChannels, Link
from jmsbridge.spi.envelope import Address
from jmsbridge.spi.errors import BackendError, LinkLost
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness, LinkLog
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import Answer, answered, envelope, fetch, peek
from jmsbridge.testing.suite.support import LONG, eventually

_COUNT = 20


def _channels(link: Link) -> list[Channel]:
    """All that are worth having."""
    if not isinstance(link, GroupChannels):
        pytest.skip("this link opens none: groups of sends have one channel")
    return [link.group_channel(number) for number in range(link.group_channels)]


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
@promise(GroupChannels.group_channel)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_group_channels_commit_in_the_order_of_their_answers(harness: Harness) -> None:
    """All are sent before the first commit; what is committed later comes later, whatever was sent first."""
    address, link = harness.address(), harness.open_link()
    channels = _channels(link)
    for turn in range(3):
        order = list(enumerate(channels))[::-1] if turn % 2 else list(enumerate(channels))
        texts = [[f"{turn} {number} {each}" for each in range(_COUNT)] for number in range(len(channels))]
        answers = [_send(channel, address, texts[number]) for number, channel in enumerate(channels)]
        assert peek(link, address) == []
        for number, channel in order:
            assert _commit(channel) is None
            assert answered(answers[number], LONG)
        expected = [text for number, _ in order for text in texts[number]]
        assert fetch(link, address, len(expected)) == expected


@level("contract")
@promise(GroupChannels.group_channel)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_group_channels_roll_back_when_they_are_closed(harness: Harness) -> None:
    """One by one: the others are not affected."""
    address, link = harness.address(), harness.open_link()
    channels = _channels(link)
    for number, channel in enumerate(channels):
        _send(channel, address, [str(number)] * _COUNT)
    for channel in channels[1:]:
        channel.close()
    assert _commit(channels[0]) is None
    assert fetch(link, address, _COUNT) == ["0"] * _COUNT
    assert peek(link, address) == []


@level("contract")
@promise(GroupChannels.group_channel)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_group_channels_end_with_their_link(harness: Harness) -> None:
    """What was not committed is not there, and every verb fails."""
    address, log = harness.address(), LinkLog()
    link = harness.open_link(log)
    channels = _channels(link)
    answers = [_send(channel, address, ["lost"]) for channel in channels]
    harness.cut()
    eventually(lambda: log.losses)
    for channel in channels:
        eventually(lambda: isinstance(_commit(channel), LinkLost))  # noqa: B023 (called at once)
    assert all(answered(each, LONG) for each in answers)
    assert peek(harness.open_link(), address) == []


@level("contract")
@promise(GroupChannels.group_channel)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_group_channels_are_closed_with_their_link(harness: Harness) -> None:
    address, link = harness.address(), harness.open_link()
    channels = _channels(link)
    for channel in channels:
        _send(channel, address, ["never"])
    link.close()
    for channel in channels:
        answer = Answer()
        channel.commit(answer)
        assert isinstance(answer.outcome(LONG), LinkLost)
    assert peek(harness.open_link(), address) == []
