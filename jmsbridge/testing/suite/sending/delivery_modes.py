"""Beyond Jakarta Messaging: more acknowledgement modes, grouped confirmation, which calls wait for the broker.

The modes follow Qpid's acknowledgement modes, the guarantees of sends and acknowledgements those of Artemis.
"""

import contextlib
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    NO_ACKNOWLEDGE,
    PRE_ACKNOWLEDGE,
    Connection,
    DeliveryMode,
    Message,
    Queue,
    Session,
    TextMessage,
)
from jmsbridge.errors import InDoubt, InvalidDestinationException, JMSException
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import (
    deferred_session,
    deliveries,
    delivery,
    gone_queue,
    left,
    returned,
    take,
    unseen,
)
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Collector,
    assert_empty,
    eventually,
    receive_texts,
    run_thread,
    send_texts,
    text_of,
)

ALL_MODES = {
    "auto": AUTO_ACKNOWLEDGE,
    "client": CLIENT_ACKNOWLEDGE,
    "dups_ok": DUPS_OK_ACKNOWLEDGE,
    "individual": INDIVIDUAL_ACKNOWLEDGE,
    "pre": PRE_ACKNOWLEDGE,
    "no": NO_ACKNOWLEDGE,
}
GROUPED = DeliveryMode.PERSISTENT_GROUPACK


# -- acknowledgement modes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ALL_MODES.values(), ids=ALL_MODES)
def test_modes_acknowledge_mode_reads_back(harness: Harness, queue: Queue, mode: int) -> None:
    """A session and a context return the mode with which they were created."""
    connection = harness.connect()
    made = [connection.create_session(session_mode=mode), connection.create_session(False, mode)]
    assert [(session.acknowledge_mode, session.transacted) for session in made] == [(mode, False)] * 2
    assert harness.context(mode).session_mode == mode


def test_modes_individual_covers_one_message(harness: Harness, session: Session, queue: Queue) -> None:
    """INDIVIDUAL: acknowledge covers its own message only, in any order."""
    individual = deferred_session(harness, INDIVIDUAL_ACKNOWLEDGE)
    consumer = individual.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c", "d")
    messages = [take(consumer) for _ in range(4)]
    messages[3].acknowledge()
    messages[1].acknowledge()
    individual.close()
    assert left(harness, queue, 2) == [returned(harness, "a"), returned(harness, "c")]


def test_modes_individual_recover_brings_back_the_rest(harness: Harness, session: Session, queue: Queue) -> None:
    """INDIVIDUAL: recover redelivers the messages that were not acknowledged, in order."""
    individual = deferred_session(harness, INDIVIDUAL_ACKNOWLEDGE)
    consumer = individual.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c", "d")
    messages = [take(consumer) for _ in range(3)]
    messages[1].acknowledge()
    individual.recover()
    assert deliveries(consumer, 3) == [("a", True, 2), ("c", True, 2), ("d", False, 1)]


def test_modes_individual_in_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """INDIVIDUAL: a listener may acknowledge some messages and leave others."""
    individual = deferred_session(harness, INDIVIDUAL_ACKNOWLEDGE)

    def listen(message: Message) -> None:
        if delivery(message)[0] != "b":
            message.acknowledge()

    collector = Collector(listen)
    individual.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a", "b", "c")
    collector.wait(3)
    individual.close()
    assert left(harness, queue, 1) == [returned(harness, "b")]


@requires(Native.SETTLE_CONFIRM)
def test_modes_pre_acknowledge_precedes_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """PRE: a message is acknowledged before the listener gets it; after a failure it is lost, never duplicated."""
    entered, leave = threading.Event(), threading.Event()

    def listen(_: Message) -> None:
        entered.set()
        leave.wait(LONG)

    eager = deferred_session(harness, PRE_ACKNOWLEDGE, reconnect_attempts=0, block_on_acknowledge=True)
    eager.create_consumer(queue).message_listener = listen
    send_texts(session, queue, "a")
    assert entered.wait(LONG)
    try:
        harness.cut()
        assert left(harness, queue, 0) == []
    finally:
        leave.set()


def test_modes_pre_acknowledge_keeps_prefetched(harness: Harness, session: Session, queue: Queue) -> None:
    """PRE: messages that the application did not get are not acknowledged, and are released."""
    eager = deferred_session(harness, PRE_ACKNOWLEDGE)
    consumer = eager.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert deliveries(consumer, 1) == [("a", False, 1)]
    eager.recover()
    eager.close()
    assert left(harness, queue, 2) == [unseen(harness, "b"), unseen(harness, "c")]


@pytest.mark.parametrize("mode", [PRE_ACKNOWLEDGE, NO_ACKNOWLEDGE], ids=["pre", "no"])
def test_modes_unacknowledged_listener_that_raises(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """PRE and NO: an error of the listener redelivers nothing."""
    listening = deferred_session(harness, mode)

    def refuse(message: Message) -> None:
        raise LookupError(delivery(message)[0])

    collector = Collector(refuse)
    listening.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a", "b")
    collector.wait(2)
    listening.close()
    assert [delivery(message) for message in collector.messages] == [("a", False, 1), ("b", False, 1)]
    assert left(harness, queue, 0) == []


def test_modes_no_acknowledge_never_redelivers(harness: Harness, session: Session, queue: Queue) -> None:
    """NO: a message that reached the client is never redelivered; acknowledge and recover do nothing."""
    careless = deferred_session(harness, NO_ACKNOWLEDGE, reconnect_attempts=0)
    consumer = careless.create_consumer(queue)
    send_texts(session, queue, "a")
    message = take(consumer)
    message.acknowledge()
    careless.recover()
    assert_empty(consumer)
    harness.cut()
    assert left(harness, queue, 0) == []


# -- delivery modes --------------------------------------------------------------------------------------------------


@rule("DM-1")
def test_modes_delivery_mode_default_and_header(session: Session, queue: Queue) -> None:
    """The default is PERSISTENT; the mode of the producer or of the send is in the header on both sides."""
    producer = session.create_producer(queue)
    assert producer.delivery_mode == DeliveryMode.PERSISTENT
    producer.send(session.create_text_message("a"))
    producer.delivery_mode = DeliveryMode.NON_PERSISTENT
    sent = session.create_text_message("b")
    producer.send(sent)
    producer.send(session.create_text_message("c"), delivery_mode=DeliveryMode.PERSISTENT)
    assert sent.jms_delivery_mode == DeliveryMode.NON_PERSISTENT
    consumer = session.create_consumer(queue)
    got = [(message.text, int(message.jms_delivery_mode)) for message in (take(consumer) for _ in range(3))]
    assert got == [("a", 2), ("b", 1), ("c", 2)]


def grouping(connection: Connection, threshold: int) -> Session:
    """A session that asks for confirmation of every ``threshold``-th message."""
    session = connection.create_session()
    session.group_ack_threshold = threshold
    assert session.group_ack_threshold == threshold
    return session


def test_modes_group_is_persistent_on_the_wire(harness: Harness, session: Session, queue: Queue) -> None:
    """PERSISTENT_GROUPACK concerns only producer and broker: the receiver sees PERSISTENT."""
    consumer = session.create_consumer(queue)
    send_texts(grouping(harness.connect(), 5), queue, "a", delivery_mode=GROUPED)
    assert take(consumer).jms_delivery_mode == DeliveryMode.PERSISTENT


def ids(messages: Iterable[Any]) -> list[str | None]:
    """Message ids: the producer keeps copies, since the application may use its messages again."""
    return [message.jms_message_id for message in messages]


@pytest.mark.parametrize("where", ["connection", "session"])
def test_modes_group_is_confirmed_at_threshold(harness: Harness, queue: Queue, where: str) -> None:
    """The send that completes a group returns when the whole group is confirmed."""
    if where == "session":
        sending = grouping(harness.connect(), 3)
    else:
        sending = harness.connect(group_ack_threshold=3).create_session()
        assert sending.group_ack_threshold == 3
    producer = sending.create_producer(queue)
    producer.delivery_mode = GROUPED
    assert producer.unacknowledged == ()
    for _ in range(3):
        messages = [sending.create_text_message(text) for text in "abc"]
        for number, message in enumerate(messages, start=1):
            producer.send(message)
            assert set(ids(producer.unacknowledged)) <= (set(ids(messages[:number])) if number < 3 else set())
    assert [text for text, _, _ in left(harness, queue, 9)] == list("abcabcabc")


def test_modes_group_is_confirmed_when_idle(harness: Harness, queue: Queue) -> None:
    """An incomplete group is confirmed after a short idle time."""
    sending = grouping(harness.connect(), 100)
    producer = sending.create_producer(queue)
    producer.send(sending.create_text_message("a"), delivery_mode=GROUPED)
    eventually(lambda: producer.unacknowledged == ())


def test_modes_group_is_delivered_before_confirmation(harness: Harness, session: Session, queue: Queue) -> None:
    """Unlike a transaction, a group reaches consumers message by message."""
    consumer = session.create_consumer(queue)
    sending = grouping(harness.connect(), 100)
    producer = sending.create_producer(queue)
    for text in "abc":
        producer.send(sending.create_text_message(text), delivery_mode=GROUPED)
        assert receive_texts(consumer, 1) == [text]


@pytest.mark.parametrize("closed", ["producer", "session", "connection"])
def test_modes_group_survives_close_of_producer(harness: Harness, queue: Queue, closed: str) -> None:
    """Closing the producer waits for the confirmation of an incomplete group."""
    connection = harness.connect()
    sending = grouping(connection, 100)
    producer = sending.create_producer(queue)
    for text in "ab":
        producer.send(sending.create_text_message(text), delivery_mode=GROUPED)
    {"producer": producer.close, "session": sending.close, "connection": connection.close}[closed]()
    harness.cut()
    assert [text for text, _, _ in left(harness, queue, 2)] == ["a", "b"]


@requires(Native.TEMPORARY, native=True)
def test_modes_group_unacknowledged_after_refusal(harness: Harness, session: Session, queue: Queue) -> None:
    """Only refused messages are in unacknowledged, and the group's next send raises, once."""
    gone, sending = gone_queue(harness), grouping(harness.connect(), 100)
    producer = sending.create_producer(None)
    good, bad, late, again = (sending.create_text_message(text) for text in ("good", "bad", "late", "again"))
    producer.send(queue, good, delivery_mode=GROUPED)
    producer.send(gone, bad, delivery_mode=GROUPED)
    eventually(lambda: ids(producer.unacknowledged) == ids([bad]))
    with pytest.raises(InDoubt) as caught:
        producer.send(queue, late, delivery_mode=GROUPED)
    assert (ids(caught.value.refused), caught.value.unknown) == (ids([bad]), ())
    assert [text_of(message) for message in producer.unacknowledged] == ["bad"]
    producer.send(queue, again, delivery_mode=GROUPED)
    eventually(lambda: producer.unacknowledged == ())
    assert receive_texts(session.create_consumer(queue), 2) == ["good", "again"]


def test_modes_group_unacknowledged_after_failure(harness: Harness, queue: Queue) -> None:
    """After a failure every message is at the broker or in unacknowledged."""
    sending = grouping(harness.connect(reconnect_attempts=0), 100)
    producer = sending.create_producer(queue)
    messages = [sending.create_text_message(str(number)) for number in range(20)]
    for message in messages:
        producer.send(message, delivery_mode=GROUPED)
    harness.cut()
    doubtful = ids(producer.unacknowledged)
    with harness.connect() as connection:
        consumer = connection.create_session().create_consumer(queue)
        arrived = [message.jms_message_id for message in iter(lambda: consumer.receive(timeout=SHORT), None)]
    assert [one for one in ids(messages) if one in arrived or one in doubtful] == ids(messages)
    assert set(doubtful) <= set(ids(messages))
    with contextlib.suppress(InDoubt):  # closing reports once more which sends are in doubt
        sending.close()


# -- whether send and acknowledge wait ---------------------------------------------------------------------------------

WAITING = [
    pytest.param(DeliveryMode.PERSISTENT, {}, id="durable-default"),
    pytest.param(DeliveryMode.PERSISTENT, {"block_on_durable_send": True}, id="durable-block"),
    pytest.param(DeliveryMode.NON_PERSISTENT, {"block_on_non_durable_send": True}, id="non-durable-block"),
]
NOT_WAITING = [
    pytest.param(DeliveryMode.NON_PERSISTENT, {}, id="non-durable-default"),
    pytest.param(DeliveryMode.NON_PERSISTENT, {"block_on_non_durable_send": False}, id="non-durable-no-block"),
    pytest.param(DeliveryMode.PERSISTENT, {"block_on_durable_send": False}, id="durable-no-block"),
]


@pytest.mark.parametrize(("mode", "options"), WAITING)
@requires(Native.TEMPORARY, native=True)
def test_modes_blocking_send_raises(harness: Harness, mode: int, options: dict[str, Any]) -> None:
    """A send that waits raises the broker's refusal, which is not reported again."""
    connection = harness.connect(**options)
    heard: list[Exception] = []
    connection.exception_listener = heard.append
    sending = connection.create_session()
    with pytest.raises(InvalidDestinationException):
        send_texts(sending, gone_queue(harness), "a", delivery_mode=mode)
    assert list(sending.failed_sends) == []
    assert heard == []


@pytest.mark.parametrize(("mode", "options"), NOT_WAITING)
@requires(Native.TEMPORARY, native=True)
def test_modes_non_blocking_send_fails_later(harness: Harness, mode: int, options: dict[str, Any]) -> None:
    """A send that does not wait returns; its refusal is kept with the message in failed_sends."""
    sending = harness.connect(**options).create_session()
    [message] = send_texts(sending, gone_queue(harness), "a", delivery_mode=mode)
    eventually(lambda: len(sending.failed_sends) == 1)
    assert failed_messages(sending) == [message]


def failed_messages(session: Session) -> list[Any]:
    """The messages of ``failed_sends``."""
    failures = session.failed_sends
    assert all(isinstance(failure, InDoubt) for failure in failures)
    found = [failure for failure in failures if isinstance(failure, InDoubt)]
    return [message for failure in found for message in (*failure.refused, *failure.unknown)]


@requires(Native.TEMPORARY, native=True)
def test_modes_failed_send_reaches_exception_listener(harness: Harness) -> None:
    """A send that fails after it returned is reported to the exception listener, not on the sender's thread."""
    connection = harness.connect()
    heard: list[tuple[Exception, threading.Thread]] = []
    connection.exception_listener = lambda error: heard.append((error, threading.current_thread()))
    sending = connection.create_session()
    [message] = send_texts(sending, gone_queue(harness), "a", delivery_mode=DeliveryMode.NON_PERSISTENT)
    eventually(lambda: heard)
    [(error, thread)] = heard
    assert isinstance(error, InDoubt)
    assert (error.refused, error.sent) == ((message,), ())
    assert thread is not threading.current_thread()


@requires(Native.SETTLE_CONFIRM)
def test_modes_blocking_acknowledge_is_confirmed(harness: Harness, session: Session, queue: Queue) -> None:
    """With block_on_acknowledge the acknowledgement is confirmed when acknowledge returns."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE, block_on_acknowledge=True, reconnect_attempts=0)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    take(consumer)
    take(consumer).acknowledge()
    harness.cut()
    assert left(harness, queue, 0) == []


@requires(Native.SETTLE_CONFIRM)
def test_modes_blocking_acknowledge_reports_failure(harness: Harness, session: Session, queue: Queue) -> None:
    """With block_on_acknowledge, acknowledge raises if the broker cannot be reached."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE, block_on_acknowledge=True, reconnect_attempts=0)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a")
    message = take(consumer)
    harness.cut()
    with pytest.raises(JMSException):
        message.acknowledge()
    assert [text for text, _, _ in left(harness, queue, 1)] == ["a"]


@pytest.mark.parametrize("mode", [DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT], ids=["durable", "non-durable"])
def test_modes_send_acknowledgement_handler(harness: Harness, queue: Queue, mode: int) -> None:
    """The handler is called for every message that reached the broker, in sending order, not on the sender's thread."""
    connection = harness.connect(confirmation_window_size=1 << 20, block_on_durable_send=False)
    sending = connection.create_session()
    heard: list[Message] = []
    threads: set[threading.Thread] = set()

    def acknowledged(message: Message) -> None:
        threads.add(threading.current_thread())
        heard.append(message)

    sending.send_acknowledgement_handler = acknowledged
    messages = send_texts(sending, queue, *"abcde", delivery_mode=mode)
    eventually(lambda: len(heard) == 5)
    assert all(got is sent for got, sent in zip(heard, messages, strict=True))
    assert threading.current_thread() not in threads
    sending.close()
    assert [text for text, _, _ in left(harness, queue, 5)] == list("abcde")


def test_modes_send_acknowledgement_handler_unset(harness: Harness, queue: Queue) -> None:
    """The handler can be removed by setting None; then it is no longer called."""
    sending = harness.connect(confirmation_window_size=1 << 20).create_session()
    heard: list[Message] = []
    sending.send_acknowledgement_handler = heard.append
    [message] = send_texts(sending, queue, "a")
    eventually(lambda: heard)
    sending.send_acknowledgement_handler = None
    send_texts(sending, queue, "b")
    sending.close()
    assert heard == [message]


def test_modes_confirmation_window_counts_bytes(harness: Harness, queue: Queue) -> None:
    """When the bytes of unconfirmed messages fill the window, the next asynchronous send waits for room."""
    sending = harness.connect(confirmation_window_size=1000).create_session()
    producer = sending.create_producer(queue)
    entered, leave = threading.Event(), threading.Event()

    class Blocking:
        def on_completion(self, message: Message) -> None:
            entered.set()
            leave.wait(LONG)

        def on_exception(self, message: Message, error: Exception) -> None:
            entered.set()

    def send_three() -> int:
        for _ in range(3):
            producer.send(sending.create_text_message("x" * 600), completion_listener=Blocking())
        return 3

    sent = run_thread(send_three)
    try:
        assert entered.wait(LONG)
        with pytest.raises(TimeoutError):
            sent.result(0.2)
    finally:
        leave.set()
    assert sent.result(LONG) == 3


def test_modes_confirmation_window_admits_large_message(harness: Harness, queue: Queue) -> None:
    """A message larger than the whole window passes when it is alone."""
    sending = harness.connect(confirmation_window_size=100).create_session()
    producer = sending.create_producer(queue)
    futures = [producer.send_async(sending.create_text_message("x" * 5000)) for _ in range(3)]
    assert all(isinstance(future.result(LONG), TextMessage) for future in futures)
