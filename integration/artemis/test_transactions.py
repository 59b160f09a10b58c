"""What Artemis does over STOMP with a transaction of which it refuses a message.

Most messages of a transaction ask for no receipts there; that of the last one must say that none was refused.
"""

from collections.abc import Callable, Iterator

import pytest

from integration.lab.admin.stomp import Stomp
from integration.lab.broker import Broker
from integration.lab.errors import BrokerFailed
from integration.networked.conftest import name
from integration.networked.connecting import connections
from jmsbridge import Connection, InDoubtException, Queue, TransactionRolledBackException
from jmsbridge.testing.suite.sending.send_groups import outcomes
from jmsbridge.testing.suite.support import LONG, Completions, receive_texts, text_of

__all__ = ["name"]

pytestmark = pytest.mark.broker("artemis")

Connect = Callable[..., Connection]
TEXTS = [str(number) for number in range(60)]
ROOM = 10
"""Messages that an address below ``small.`` takes."""


@pytest.fixture
def connect(artemis: Broker) -> Iterator[Connect]:
    """Connections of a guest."""
    with connections("stomp", send_timeout=LONG) as begin:
        yield lambda **options: begin(artemis.url("stomp", user=None), **options)


def refused(name: str, how: str) -> Queue:
    """A queue that takes nothing."""
    return Queue("activemq.management" if how == "no right" else f"small.{name}")


@pytest.fixture
def fill(connect: Connect, name: str) -> None:
    """An address that is full."""
    session = connect().create_session()
    with session.create_producer(refused(name, "full")) as producer:
        for _ in range(ROOM):
            producer.send("fills it")


@pytest.mark.usefixtures("fill")
@pytest.mark.parametrize("how", ["no right", "full"])
@pytest.mark.parametrize("at", [0, 1, 30, 59])
def test_a_group_with_a_refused_message_is_sent_again_one_by_one(
    connect: Connect, name: str, how: str, at: int
) -> None:
    """None is lost. Those on their way behind the refused one may fail or be in doubt: Artemis ends their socket."""
    queue, bad, listener = Queue(name), refused(name, how), Completions()
    session = connect(send_confirmation="group").create_session()
    producer = session.create_producer(None)
    for number, text in enumerate(TEXTS):
        producer.send(bad if number == at else queue, text, completion_listener=listener)
    listener.wait(len(TEXTS))
    completed = [text for what, text in outcomes(listener) if what == "completed"]
    doubtful = [event[1].text for event in listener.events if isinstance(event[-1], InDoubtException)]
    assert TEXTS[at] not in completed
    consumer = session.create_consumer(queue)
    arrived = receive_texts(consumer, len(completed))
    while (message := consumer.receive(timeout=1)) is not None:
        arrived.append(text_of(message))
    assert arrived == sorted(set(arrived), key=int)
    assert set(completed) <= set(arrived) <= {*completed, *doubtful} - {TEXTS[at]}


@pytest.mark.filterwarnings("ignore:.*no local transaction:jmsbridge.EmulationWarning")
@pytest.mark.usefixtures("fill")
@pytest.mark.parametrize("how", ["no right", "full"])
@pytest.mark.parametrize("at", [0, 1, 10, 19])
def test_a_refused_message_rolls_its_transaction_back(connect: Connect, name: str, how: str, at: int) -> None:
    queue, bad = Queue(name), refused(name, how)
    session = connect().create_session(transacted=True)
    producer = session.create_producer(None)
    for number, text in enumerate(TEXTS[:20]):
        producer.send(bad if number == at else queue, text)
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    producer.send(queue, "the next one")
    session.commit()
    assert receive_texts(connect().create_session().create_consumer(queue), 1) == ["the next one"]


@pytest.mark.usefixtures("fill")
@pytest.mark.parametrize("how", ["no right", "full"])
def test_no_message_behind_a_refused_one_gets_a_receipt(artemis: Broker, name: str, how: str) -> None:
    """On this the backend relies (``Product.answers_in_order``)."""
    bad = refused(name, how).queue_name
    for _ in range(100):
        with Stomp(artemis.ports["stomp"], None) as guest:
            guest.send("BEGIN", {"transaction": "t"})
            for destination in (name, bad, name):
                guest.send("SEND", {"destination": destination, "destination-type": "ANYCAST", "transaction": "t"}, "x")
            try:
                guest.send(
                    "SEND",
                    {"destination": name, "destination-type": "ANYCAST", "transaction": "t", "receipt": "1"},
                    "x",
                )
            except OSError:  # the broker has closed it
                continue
            with pytest.raises((BrokerFailed, OSError)):
                guest.expect("RECEIPT")
