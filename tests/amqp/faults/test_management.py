"""RabbitMQ's management node answers late, too often, or with what is no answer."""

from collections.abc import Callable

import pytest

from jmsbridge.spi import Address, BackendError, Outcome
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.messages import text
from tests.amqp.peer.records import Sent
from tests.amqp.peer.script import Outcome as Said
from tests.amqp.peer.script import accept

Open = Callable[..., Opened]

RABBITMQ = {"product": "RabbitMQ", "version": "0 (a peer)"}
NODE = "/management"
THERE = text("", subject="200")


def answer(opened: Opened, *answers: bytes) -> None:
    node = opened.peer.wait_link(NODE, receives=True)
    opened.peer.do(lambda: node.deliver(*answers))


def rabbitmq_that_says(open_link: Open, said: bytes) -> Opened:
    """A link to a peer whose management node answers each request so."""
    opened = open_link({"properties": RABBITMQ})

    def outcome(sent: Sent) -> Said:
        if sent.address == NODE:
            answer(opened, said)
        return accept

    opened.script.outcome = outcome
    return opened


@pytest.fixture
def rabbitmq(open_link: Open) -> Opened:
    """It has each queue for which it is asked."""
    return rabbitmq_that_says(open_link, THERE)


@pytest.mark.usefixtures("impatient")
def test_a_copy_whose_queue_is_known_too_late_is_not_sent(rabbitmq: Opened) -> None:
    subscription, box = subscribe(rabbitmq.link.channel(False), QUEUE, 5, dead_letters="dead")
    rabbitmq.peer.put("/queues/q", text("bad"))
    box.wait(1)
    rabbitmq.script.outcome = lambda sent: accept  # from now on the node does not answer
    rejected = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, rejected)
    error = rejected.outcome()
    assert isinstance(error, BackendError)
    assert not error.in_doubt
    assert "dead" in str(error)
    answer(rabbitmq, THERE)
    send(rabbitmq.link.channel(False), envelope(QUEUE, "next"))  # over another link, after the answer
    rabbitmq.peer.put("/queues/q", text("next"))
    box.wait(2)
    assert [sent.data for sent in rabbitmq.records.sent if b"bad" in sent.data] == []


def test_an_answer_to_nothing_is_ignored(rabbitmq: Opened, caplog: pytest.LogCaptureFixture) -> None:
    channel = rabbitmq.link.channel(False)
    send(channel, envelope(QUEUE))
    answer(rabbitmq, THERE)
    send(channel, envelope(Address("other")))
    assert rabbitmq.events.losses == []
    assert "unexpected error" not in caplog.text


@pytest.mark.parametrize("said", [b"", b"\x00\x53\x77\x40", text("", subject="fine"), text("", id=5)])
def test_an_answer_that_is_none_is_an_error(open_link: Open, said: bytes, caplog: pytest.LogCaptureFixture) -> None:
    opened = rabbitmq_that_says(open_link, said)
    with pytest.raises(BackendError, match=f"{NODE} is malformed"):
        send(opened.link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []
    assert "unexpected error" not in caplog.text
