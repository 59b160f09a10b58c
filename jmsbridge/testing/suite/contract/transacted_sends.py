"""Contract: the sends of a transaction that nobody waits for one by one; confirmation in groups is built on this."""

from jmsbridge.spi.backend import Channel
from jmsbridge.spi.envelope import Address
from jmsbridge.spi.errors import BackendError
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import Answer, answered, envelope, fetch, peek, send
from jmsbridge.testing.suite.support import LONG

_MANY = 256


def _send_unanswered(channel: Channel, *pairs: tuple[Address, str]) -> list[Answer]:
    answers = [Answer() for _ in pairs]
    for (address, text), answer in zip(pairs, answers, strict=True):
        channel.send(envelope(address, text), answer)
    return answers


def _commit(channel: Channel) -> BackendError | None:
    answer = Answer()
    channel.commit(answer)
    return answer.outcome()


@level("contract")
@promise(Channel.commit)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_commit_includes_unanswered_sends(harness: Harness) -> None:
    """Commit does not overtake sends; after its answer they are answered, and visible in order."""
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(True)
    for first in (0, _MANY):
        texts = [str(number) for number in range(first, first + _MANY)]
        answers = _send_unanswered(channel, *((address, text) for text in texts))
        assert _commit(channel) is None
        assert answered(answers, LONG)
        assert [answer.outcome() for answer in answers] == [None] * _MANY
        assert fetch(link, address, _MANY) == texts


@level("contract")
@promise(Channel.commit)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_belongs_to_its_channel(harness: Harness) -> None:
    """Sends on another channel of the link are visible at once, and stay after a rollback."""
    address, other = harness.address(), harness.address()
    link = harness.open_link()
    channel, plain = link.channel(True), link.channel(False)
    send(channel, envelope(address, "rolled back"))
    send(plain, envelope(other, "plain"))
    assert (peek(link, address), peek(link, other)) == ([], ["plain"])
    answer = Answer()
    channel.rollback(answer)
    answer.wait()
    assert (peek(link, address), peek(link, other)) == ([], ["plain"])


@level("contract")
@promise(Channel.commit)
@requires(Native.SEND_TRANSACTIONS | Native.TEMPORARY)
def test_contract_tx_with_a_refused_send(harness: Harness) -> None:
    """If the commit succeeds, each send has its own answer, which is true; if it is refused, nothing took effect.

    The send is to a temporary queue that was deleted before. The broker may accept it nevertheless.
    """
    address = harness.address()
    link = harness.open_link()
    gone = link.declare(Address(harness.name("temp"), temporary=True))
    link.delete(gone)
    channel = link.channel(True)
    before, refused, after = _send_unanswered(channel, (address, "before"), (gone, "refused"), (address, "after"))
    error = _commit(channel)
    if error is not None:
        assert not error.in_doubt
        assert peek(link, address) == []
        return
    assert answered((before, refused, after), LONG)
    visible = [text for text, answer in (("before", before), ("after", after)) if answer.outcome() is None]
    assert peek(link, address) == visible
