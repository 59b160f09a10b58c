"""RabbitMQ's management node answers late, too often, or with what is no answer; its queues are not ready at once."""

from collections.abc import Callable
from typing import Any

import proton
import pytest

from jmsbridge.spi import Address, BackendError, Outcome
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from jmsbridge.testing.suite.support import eventually
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.messages import text
from tests.amqp.peer.records import Sent
from tests.amqp.peer.script import Attached, Condition, accept
from tests.amqp.peer.script import Outcome as Said

Open = Callable[..., Opened]

RABBITMQ = {"product": "RabbitMQ", "version": "0 (a peer)"}
NODE = "/management"


def there(request: object) -> bytes:
    return text("", subject="200", correlation_id=request)


def request_in(sent: Sent) -> object:
    message = proton.Message()
    message.decode(sent.data)
    return message.id


def answer(opened: Opened, *answers: bytes) -> None:
    node = opened.peer.wait_link(NODE, receives=True)
    opened.peer.do(lambda: node.deliver(*answers))


def rabbitmq_that_says(open_link: Open, says: Callable[[object], bytes]) -> Opened:
    """A link to a peer whose management node answers the id of each request so."""
    opened = open_link({"properties": RABBITMQ})

    def outcome(sent: Sent) -> Said:
        if sent.address == NODE:
            answer(opened, says(request_in(sent)))
        return accept

    opened.script.outcome = outcome
    return opened


@pytest.fixture
def rabbitmq(open_link: Open) -> Opened:
    """It has each queue for which it is asked."""
    return rabbitmq_that_says(open_link, there)


@pytest.mark.usefixtures("impatient")
def test_a_copy_whose_queue_is_known_too_late_is_not_sent(rabbitmq: Opened) -> None:
    subscription, box = subscribe(rabbitmq.link.channel(False), QUEUE, 5, dead_letters="dead")
    rabbitmq.peer.put("/queues/q", text("bad"))
    box.wait(1)
    asked: list[Sent] = []
    answers = rabbitmq.script.outcome

    def remember(sent: Sent) -> Said:
        asked.append(sent)
        return accept

    rabbitmq.script.outcome = remember  # from now on the node does not answer
    rejected = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, rejected)
    error = rejected.outcome()
    assert isinstance(error, BackendError)
    assert not error.in_doubt
    assert "dead" in str(error)
    answer(rabbitmq, there(request_in(asked[0])))
    rabbitmq.script.outcome = answers
    send(rabbitmq.link.channel(False), envelope(QUEUE, "next"))  # over another link, after the answer
    rabbitmq.peer.put("/queues/q", text("next"))
    box.wait(2)
    assert [sent.data for sent in rabbitmq.records.sent if b"bad" in sent.data] == []


def test_an_answer_to_nothing_is_ignored(rabbitmq: Opened, caplog: pytest.LogCaptureFixture) -> None:
    channel = rabbitmq.link.channel(False)
    send(channel, envelope(QUEUE))
    answer(rabbitmq, there("another"))
    send(channel, envelope(Address("other")))
    assert rabbitmq.events.losses == []
    assert "unexpected error" not in caplog.text


NONE = (
    lambda request: b"",
    lambda request: b"\x00\x53\x77\x40",
    lambda request: text("", subject="fine", correlation_id=request),
    lambda request: text("", correlation_id=request),
)


@pytest.mark.parametrize("says", NONE)
def test_an_answer_that_is_none_is_an_error(
    open_link: Open, says: Callable[[object], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    opened = rabbitmq_that_says(open_link, says)
    with pytest.raises(BackendError, match=f"{NODE} is malformed"):
        send(opened.link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []
    assert "unexpected error" not in caplog.text


def test_answers_may_come_in_any_order(open_link: Open) -> None:
    """One of two queues is refused; its answer comes first, though it was asked for last."""
    opened = open_link({"properties": RABBITMQ})
    asked: list[object] = []

    def outcome(sent: Sent) -> Said:
        if sent.address == NODE:
            asked.append(request_in(sent))
        return accept

    opened.script.outcome = outcome
    statuses: list[int] = []
    link: Any = opened.link
    management = link._facts.nodes._management

    def ask() -> None:
        for name in "ab":
            management.ask("GET", f"/queues/{name}", None, lambda status, *_: statuses.append(status))

    link._life.thread.post(lambda: management._driver.batch(ask))
    opened.peer.records.wait(lambda: len(asked) == 2, "two requests")
    answers = [text("", subject=status, correlation_id=asked[at]) for at, status in ((1, "404"), (0, "200"))]
    answer(opened, *answers)
    eventually(lambda: statuses == [404, 200])


@pytest.mark.usefixtures("impatient")
def test_a_send_does_not_wait_for_the_creation_of_its_queue(open_link: Open) -> None:
    """Only the answer to the send does; it is an error after the deadline, and the link lives on."""
    opened = open_link({"properties": RABBITMQ})
    answer_of = Answer()
    opened.link.channel(False).send(envelope(QUEUE), answer_of)
    assert answer_of.answers == []
    error = answer_of.outcome()
    assert isinstance(error, BackendError)
    assert not error.in_doubt
    assert QUEUE.name in str(error)
    assert opened.events.losses == []


def unready(opened: Opened, times: int) -> list[str]:
    """From now on consumers of the queue are refused so often; the names of all consumers are added to the list."""
    consumers: list[str] = []

    def attach(link: PeerLink) -> Attached:
        if link.address != "/queues/q" or not link.receives:
            return "attach"
        consumers.append(link.name)
        return Condition("amqp:internal-error", "noproc") if len(consumers) <= times else "attach"

    opened.script.attach = attach
    return consumers


def test_a_consumer_waits_until_its_queue_is_ready(rabbitmq: Opened) -> None:
    consumers = unready(rabbitmq, 2)
    _, box = subscribe(rabbitmq.link.channel(False), QUEUE, 1)
    rabbitmq.peer.put("/queues/q", text("here"))
    box.wait(1)
    assert len(consumers) == 3


def test_a_first_send_waits_until_its_queue_is_ready(rabbitmq: Opened) -> None:
    """It is tried with consumers; a second send does not ask again, unless the first was refused."""
    consumers = unready(rabbitmq, 2)
    channel = rabbitmq.link.channel(False)
    send(channel, envelope(QUEUE), envelope(QUEUE))
    assert len(consumers) == 3
    answers = rabbitmq.script.outcome
    rabbitmq.script.outcome = lambda sent: Said("released")
    with pytest.raises(BackendError, match=QUEUE.name):
        send(channel, envelope(QUEUE))
    rabbitmq.script.outcome = answers
    send(channel, envelope(QUEUE))
    assert len(consumers) == 4


def test_a_link_that_is_lost_before_the_queue_of_a_copy_is_ready(rabbitmq: Opened) -> None:
    subscription, box = subscribe(rabbitmq.link.channel(False), QUEUE, 5, dead_letters="dead")
    rabbitmq.peer.put("/queues/q", text("bad"))
    box.wait(1)
    rabbitmq.script.attach = lambda link: "close connection" if link.address == "/queues/dead" else "attach"
    rejected = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, rejected)
    error = rejected.outcome()
    assert isinstance(error, BackendError)
    assert not error.in_doubt


def test_messages_are_returned_in_order_of_arrival(rabbitmq: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are modified, because those would overtake released ones; only what was seen has failed."""
    monkeypatch.setattr("jmsbridge_amqp.receiving.subscription._COLLECTS", 60.0)
    subscription, box = subscribe(rabbitmq.link.channel(False), QUEUE, 4)
    rabbitmq.peer.put("/queues/q", *(text(word) for word in "abcd"))
    tokens = [arrival.token for arrival in box.wait(4)]
    subscription.settle(tokens[2:], Outcome.RELEASED)
    subscription.settle(tokens[1::-1], Outcome.REQUEUED)
    subscription.close()
    returned = rabbitmq.records.wait_settled(4)
    assert [each.data for each in returned] == [text(word) for word in "abcd"]
    assert [(each.state, each.failed) for each in returned] == [(0x27, True)] * 2 + [(0x27, False)] * 2
