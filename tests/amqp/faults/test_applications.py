"""What an application sees of a broker's faults: the exception, its text, and no message lost or doubled unmarked."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import jmsbridge
from jmsbridge import (
    Connection,
    InDoubt,
    InvalidClientIDException,
    InvalidDestinationException,
    InvalidSelectorException,
    JMSException,
    JMSSecurityException,
    TransactionRolledBackException,
)
from tests.amqp.faults.support import CLASSIC
from tests.amqp.peer.messages import text
from tests.amqp.peer.records import PATIENCE
from tests.amqp.peer.script import Condition
from tests.amqp.peer.script import Outcome as Said
from tests.amqp.peer.server import Peer

if TYPE_CHECKING:
    from tests.amqp.peer.records import Sent

Connect = Callable[..., Connection]


@pytest.fixture
def peer(start_peer: Callable[..., Peer]) -> Peer:
    """One that is Artemis by its own account."""
    return start_peer()


@pytest.fixture
def connect(peer: Peer) -> Iterator[Connect]:
    """Connects to the peer, and starts the connection."""
    made: list[Connection] = []

    def connect(**options: Any) -> Connection:
        made.append(jmsbridge.connect(peer.url, **{"close_timeout": 2.0, "reconnect_delay": 0.05} | options))
        made[-1].start()
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def numbers(peer: Peer) -> list[bytes]:
    """The ends of the texts that the peer has accepted."""
    return [data[-2:] for data in peer.records.accepted]


def test_a_send_without_credit_times_out_and_was_certainly_not_sent(peer: Peer, connect: Connect) -> None:
    peer.script.credit = 0
    session = connect(send_timeout=0.5).create_session()
    producer = session.create_producer(session.create_queue("q"))
    began = time.monotonic()
    with pytest.raises(JMSException, match="credit") as caught:
        producer.send(session.create_text_message("00"))
    assert not isinstance(caught.value, InDoubt)
    assert time.monotonic() - began < 10
    link = peer.records.wait_event("attach")
    peer.script.credit = 10
    peer.do(lambda: link.grant(10))
    producer.send(session.create_text_message("01"))
    assert numbers(peer) == [b"01"]


def test_a_send_without_an_answer_is_in_doubt(peer: Peer, connect: Connect) -> None:
    peer.script.outcome = lambda sent: "omit"
    session = connect(send_timeout=0.5).create_session()
    with pytest.raises(InDoubt):
        session.create_producer(session.create_queue("q")).send(session.create_text_message("00"))
    assert len(peer.records.sent) == 1


def test_a_full_address_is_said(peer: Peer, connect: Connect) -> None:
    full = Said("rejected", Condition("amqp:resource-limit-exceeded", "Address q is full"))
    peer.script.outcome = lambda sent: full
    session = connect().create_session()
    with pytest.raises(JMSException, match="Address q is full") as caught:
        session.create_producer(session.create_queue("q")).send(session.create_text_message("00"))
    assert not isinstance(caught.value, InDoubt)


@pytest.mark.parametrize(
    ("condition", "selector", "error"),
    [
        ("amqp:unauthorized-access", None, JMSSecurityException),
        ("amqp:not-found", None, InvalidDestinationException),
        ("amqp:invalid-field", "a = 1", InvalidSelectorException),
        ("amqp:resource-limit-exceeded", None, JMSException),
    ],
)
def test_a_refused_consumer(
    peer: Peer, connect: Connect, condition: str, selector: str | None, error: type[JMSException]
) -> None:
    peer.script.attach = lambda link: Condition(condition, "so it is")
    session = connect().create_session()
    with pytest.raises(error, match="so it is"):
        session.create_consumer(session.create_queue("q"), selector)


def test_a_client_id_in_use(peer: Peer, connect: Connect) -> None:
    peer.script.connection = Condition("amqp:invalid-field", "taken", {"invalid-field": "container-id"})
    with pytest.raises(InvalidClientIDException, match="mine"):
        connect(client_id="mine")


@pytest.mark.parametrize("ending", ["die", "detach", "end session"])
def test_a_commit_without_an_answer_is_in_doubt(peer: Peer, connect: Connect, ending: Any) -> None:
    peer.script.discharge = lambda txn, fail: ending
    session = connect().create_session(jmsbridge.SESSION_TRANSACTED)
    session.create_producer(session.create_queue("q")).send(session.create_text_message("00"))
    with pytest.raises(InDoubt):
        session.commit()
    assert numbers(peer) == [b"00"]


def test_a_refused_commit_is_rolled_back(peer: Peer, connect: Connect) -> None:
    refused = Said("rejected", Condition("amqp:transaction:rollback", "no room"))
    peer.script.discharge = lambda txn, fail: Said() if fail else refused
    session = connect().create_session(jmsbridge.SESSION_TRANSACTED)
    producer = session.create_producer(session.create_queue("q"))
    producer.send(session.create_text_message("00"))
    with pytest.raises(TransactionRolledBackException, match="no room"):
        session.commit()
    peer.script.discharge = lambda txn, fail: Said()
    producer.send(session.create_text_message("01"))
    session.commit()
    assert numbers(peer) == [b"01"]


def test_what_was_confirmed_is_there_however_often_the_connection_breaks(peer: Peer, connect: Connect) -> None:
    seen = 0

    def outcome(sent: "Sent") -> Any:
        nonlocal seen
        seen += 1
        return "die" if seen % 7 == 0 else Said()

    peer.script.outcome = outcome
    session = connect().create_session()
    producer = session.create_producer(session.create_queue("q"))
    confirmed, doubtful = [], []
    for number in range(60):
        body = f"{number:02}"
        try:
            producer.send(session.create_text_message(body))
            confirmed.append(body.encode())
        except InDoubt:
            doubtful.append(body.encode())
    assert len(doubtful) >= 6
    there = numbers(peer)
    assert [each for each in there if each in confirmed] == confirmed
    assert len(there) == len(set(there))
    assert set(there) <= {*confirmed, *doubtful}


def test_completion_listeners_hear_of_every_message_once(peer: Peer, connect: Connect) -> None:
    session = connect().create_session()
    producer = session.create_producer(session.create_queue("q"))
    heard: list[tuple[str, bool]] = []
    done = threading.Semaphore(0)

    class Listener(jmsbridge.CompletionListener):
        def on_completion(self, message: Any) -> None:
            heard.append((message.text, True))
            done.release()

        def on_exception(self, message: Any, exception: Exception) -> None:
            heard.append((message.text, False))
            done.release()

    count = 0

    def outcome(sent: "Sent") -> Any:
        nonlocal count
        count += 1
        if count == 50:
            return "die"
        return Said("rejected") if count % 10 == 0 else Said()

    peer.script.outcome = outcome
    for number in range(100):
        producer.send(session.create_text_message(f"{number:02}"), completion_listener=Listener())
    for _ in range(100):
        assert done.acquire(timeout=PATIENCE)
    assert [body for body, _ in heard] == [f"{number:02}" for number in range(100)]
    there = numbers(peer)
    assert all(body.encode() in there for body, good in heard if good)
    assert len(there) == len(set(there))


def test_a_message_that_comes_again_after_a_lost_connection_is_marked(peer: Peer, connect: Connect) -> None:
    """Also where the broker does not count deliveries whose connection was lost."""
    session = connect().create_session(jmsbridge.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("q"))
    peer.put("q", text("one", id="ID:1"), text("two", id="ID:2"))
    first = consumer.receive(timeout=PATIENCE)
    assert first is not None
    assert not first.jms_redelivered
    peer.do(peer.connection.cut)
    peer.records.wait_event("open", 2)
    peer.put("q", text("one", id="ID:1"), text("two", id="ID:2"))
    again, other = consumer.receive(timeout=PATIENCE), consumer.receive(timeout=PATIENCE)
    assert again is not None
    assert other is not None
    assert (again.jms_message_id, again.jms_redelivered) == ("ID:1", True)
    assert again.get_int_property("JMSXDeliveryCount") == 2
    assert not other.jms_redelivered


@pytest.mark.parametrize("count", [1, 6, 7, 50, 4_000_000_000])
def test_what_the_broker_counted_for_lost_links_makes_no_dead_letter(peer: Peer, connect: Connect, count: int) -> None:
    """Classic and RabbitMQ count each message that was on its way to a lost link, seen by the application or not."""
    peer.put("q", text("not seen before", delivery_count=count), text("next"))
    consumer = connect().create_session().create_consumer(jmsbridge.Queue("q"))
    first, following = consumer.receive(timeout=PATIENCE), consumer.receive(timeout=PATIENCE)
    assert isinstance(first, jmsbridge.TextMessage)
    assert (first.text, first.jms_redelivered) == ("not seen before", True)
    assert isinstance(following, jmsbridge.TextMessage)
    assert (following.text, following.jms_redelivered) == ("next", False)
    assert {settled.state for settled in peer.records.wait_settled(2)} == {0x24}  # accepted
    assert peer.records.sent == []  # no copy to a dead-letter queue


def test_an_exception_listener_hears_why_the_broker_closed(peer: Peer, connect: Connect) -> None:
    heard: list[JMSException] = []
    told = threading.Event()
    connection = connect(reconnect_attempts=0)

    def listen(error: JMSException) -> None:
        heard.append(error)
        told.set()

    connection.exception_listener = listen
    peer.do(lambda: peer.connection.close(Condition("amqp:connection:forced", "going down")))
    assert told.wait(PATIENCE)
    assert "going down" in str(heard[0])


def test_a_wait_ends_with_a_deleted_queue(peer: Peer, connect: Connect) -> None:
    session = connect().create_session()
    consumer = session.create_consumer(session.create_queue("q"))
    link = peer.wait_link("q", receives=True)
    timer = threading.Timer(0.3, lambda: peer.do(lambda: link.close(Condition("amqp:resource-deleted", "gone"))))
    timer.start()
    with pytest.raises(JMSException, match="gone"):
        consumer.receive(timeout=PATIENCE)
    timer.join()


def test_a_subscription_of_a_transaction_that_has_not_ended_is_refused_with_the_remedy(
    peer: Peer, connect: Connect
) -> None:
    peer.script.properties = CLASSIC
    connection = connect(client_id="c")
    session, other = connection.create_session(transacted=True), connection.create_session()
    topic = session.create_topic("t")
    consumer = session.create_durable_consumer(topic, "s")
    peer.put("topic://t", text("one"))
    assert consumer.receive(timeout=10) is not None
    consumer.close()
    with pytest.raises(JMSException, match="acknowledge, commit or roll back what it received"):
        other.create_durable_consumer(topic, "s")
    with pytest.raises(JMSException, match="acknowledge, commit or roll back what it received"):
        session.unsubscribe("s")
    session.rollback()
    other.create_durable_consumer(topic, "s")
