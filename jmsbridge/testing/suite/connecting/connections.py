"""Starting, stopping, receiving and naming (sections 6.1.3 to 6.1.7, 8.4 and 8.5; rules CN and QU)."""

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import wait

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    Connection,
    IllegalState,
    IllegalStateException,
    IllegalStateRuntimeException,
    JMSConsumer,
    JMSContext,
    JMSException,
    Message,
    Queue,
    Session,
    Topic,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Collector,
    Completions,
    assert_empty,
    eventually,
    receive_at_once,
    receive_texts,
    run_thread,
    send_texts,
)


@rule("CN-1")
def test_connect_created_connection_is_stopped(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages are delivered only after start, also to receive_no_wait."""
    send_texts(session, queue, "early")
    stopped = harness.connect(start=False)
    own = stopped.create_session()
    consumer = own.create_consumer(queue)
    assert consumer.receive_no_wait() is None
    assert consumer.receive(timeout=0) is None
    assert_empty(consumer)
    stopped.start()
    assert receive_texts(consumer, 1) == ["early"]


@rule("CN-1")
@pitfall(10)
def test_connect_never_started_consumer_takes_nothing_from_others(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """A consumer of a stopped connection does not keep messages from a started one."""
    stopped = harness.connect(start=False)
    idle = stopped.create_session().create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert idle.receive_no_wait() is None
    assert receive_texts(session.create_consumer(queue), 3) == ["a", "b", "c"]


@rule("CN-2")
def test_connect_sends_while_stopped(harness: Harness, session: Session, queue: Queue) -> None:
    """A stopped connection sends, before its first start and after a stop."""
    sender = harness.connect(start=False)
    own = sender.create_session()
    send_texts(own, queue, "before start")
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["before start"]
    sender.start()
    sender.stop()
    send_texts(own, queue, "after stop")
    assert receive_texts(consumer, 1) == ["after stop"]


CONTEXT_CONSUMERS: dict[str, Callable[[JMSContext, Topic, str], JMSConsumer]] = {
    "create_consumer": lambda context, topic, name: context.create_consumer(topic),
    "create_durable_consumer": lambda context, topic, name: context.create_durable_consumer(topic, name),
    "create_shared_consumer": lambda context, topic, name: context.create_shared_consumer(topic, name),
    "create_shared_durable_consumer": lambda context, topic, name: context.create_shared_durable_consumer(topic, name),
}
SHARED = [
    pytest.param("create_consumer"),
    pytest.param("create_durable_consumer", marks=requires(Native.DURABLE)),
    pytest.param("create_shared_consumer", marks=requires(Native.SHARED)),
    pytest.param("create_shared_durable_consumer", marks=requires(Native.SHARED_DURABLE)),
]


@rule("CN-3")
@pytest.mark.parametrize("kind", SHARED)
def test_connect_context_starts_with_any_consumer(harness: Harness, topic: Topic, kind: str) -> None:
    """Creating a consumer of whatever kind starts the context's connection."""
    context = harness.context(client_id=harness.name("client"))
    name = harness.name("subscription")
    consumer = CONTEXT_CONSUMERS[kind](context, topic, name)
    context.create_producer().send(topic, "text")
    assert receive_texts(consumer, 1) == ["text"]
    consumer.close()
    if "durable" in kind:
        context.unsubscribe(name)


@rule("CN-3")
def test_connect_context_without_auto_start_stays_stopped(harness: Harness, queue: Queue) -> None:
    """With auto_start off only start() starts the connection; setting auto_start neither starts nor stops it."""
    context = harness.context()
    assert context.auto_start is True
    context.auto_start = False
    consumer = context.create_consumer(queue)
    context.create_producer().send(queue, "text")
    assert_empty(consumer)
    context.auto_start = True
    assert_empty(consumer)
    context.start()
    context.auto_start = False
    assert receive_texts(consumer, 1) == ["text"]


@rule("CN-3")
def test_connect_context_sibling_does_not_start(harness: Harness, queue: Queue) -> None:
    """A second context on the connection does not start it; that context's consumer does."""
    context = harness.context()
    context.auto_start = False
    consumer = context.create_consumer(queue)
    context.auto_start = True
    context.create_producer().send(queue, "text")
    sibling = context.create_context(AUTO_ACKNOWLEDGE)
    assert_empty(consumer)
    sibling.create_consumer(harness.queue())
    assert receive_texts(consumer, 1) == ["text"]
    sibling.close()


@rule("CN-3")
@requires(Native.BROWSE)
def test_connect_context_browser_does_not_start(harness: Harness, queue: Queue) -> None:
    """Creating a browser does not start a context's connection."""
    context = harness.context()
    context.auto_start = False
    consumer = context.create_consumer(queue)
    context.auto_start = True
    context.create_producer().send(queue, "text")
    context.create_browser(harness.queue())
    assert_empty(consumer)
    context.start()
    assert receive_texts(consumer, 1) == ["text"]


@rule("CN-4")
def test_connect_start_and_stop_twice(connection: Connection, session: Session, queue: Queue) -> None:
    """start on a started and stop on a stopped connection have no effect."""
    connection.start()
    send_texts(session, queue, "one", "two")
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["one"]
    connection.stop()
    connection.stop()
    assert_empty(consumer)
    connection.start()
    connection.start()
    assert receive_texts(consumer, 1) == ["two"]
    assert_empty(consumer)


@rule("CN-4")
def test_connect_stop_lets_timed_receives_end(connection: Connection, session: Session, queue: Queue) -> None:
    """A receive that waits during stop returns None at its time-out, although a message arrived; start delivers it."""
    consumer = session.create_consumer(queue)
    waiting = run_thread(lambda: consumer.receive(timeout=3 * SHORT))
    assert not wait([waiting], timeout=SHORT / 2).done
    connection.stop()
    sender = connection.create_session()
    send_texts(sender, queue, "late")
    assert waiting.result(LONG) is None
    connection.start()
    assert receive_texts(consumer, 1) == ["late"]


@rule("CN-4")
@pitfall(14)
def test_connect_stop_waits_for_the_running_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """stop() in another thread waits for the running listener, which can use the session meanwhile."""
    answers = harness.queue()
    connection = harness.connect()
    own = connection.create_session()
    inside, leave = threading.Event(), threading.Event()

    def on_message(message: Message) -> None:
        inside.set()
        assert leave.wait(LONG)
        send_texts(own, answers, "answer")

    collector = Collector(on_message)
    own.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a")
    assert inside.wait(LONG)
    stopping = run_thread(connection.stop)
    assert not wait([stopping], timeout=SHORT).done
    leave.set()
    stopping.result(LONG)
    assert receive_texts(session.create_consumer(answers), 1) == ["answer"]


@rule("CN-4")
def test_connect_stop_halts_listeners_until_start(harness: Harness, session: Session, queue: Queue) -> None:
    """After stop no listener runs; what came meanwhile is delivered after start, in order."""
    connection = harness.connect()
    collector = Collector()
    connection.create_session().create_consumer(queue).message_listener = collector
    send_texts(session, queue, "before")
    collector.wait(1)
    connection.stop()
    send_texts(session, queue, "b", "c")
    unheard = threading.Event()
    assert not unheard.wait(SHORT)
    assert collector.texts == ["before"]
    connection.start()
    collector.wait(3)
    assert collector.texts == ["before", "b", "c"]


@rule("CN-5")
@pitfall(12)
@pytest.mark.parametrize("api", ["connection", "context"])
def test_connect_stop_from_own_listener_is_refused(harness: Harness, session: Session, queue: Queue, api: str) -> None:
    """stop() inside a listener of the connection raises IllegalState, and delivery goes on."""
    errors: list[BaseException] = []

    def on_message(message: Message) -> None:
        try:
            owner.stop()
        except IllegalState as error:
            errors.append(error)

    collector = Collector(on_message)
    owner: Connection | JMSContext
    if api == "connection":
        owner = connection = harness.connect()
        connection.create_session().create_consumer(queue).message_listener = collector
    else:
        owner = context = harness.context()
        context.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a", "b")
    collector.wait(2)
    eventually(lambda: len(errors) == 2)
    expected = IllegalStateException if api == "connection" else IllegalStateRuntimeException
    assert [type(error) for error in errors] == [expected, expected]


@rule("CN-5")
@pitfall(13)
@pytest.mark.parametrize("api", ["connection", "context"])
def test_connect_stop_from_a_completion_listener_succeeds(harness: Harness, queue: Queue, api: str) -> None:
    """A completion listener may stop its connection; delivery has stopped then, and starts again."""
    outcome: list[BaseException | None] = []

    def stop(message: Message) -> None:
        try:
            owner.stop()
        except BaseException as error:
            outcome.append(error)
        else:
            outcome.append(None)

    completions = Completions(on=stop)
    owner: Connection | JMSContext
    if api == "connection":
        owner = connection = harness.connect()
        session = connection.create_session()
        receive = session.create_consumer(queue).receive
        session.create_producer(queue).send(session.create_text_message("text"), completion_listener=completions)
    else:
        owner = context = harness.context()
        receive = context.create_consumer(queue).receive
        context.create_producer().set_async(completions).send(queue, "text")
    completions.wait(1)
    eventually(lambda: outcome)
    assert outcome == [None]
    assert receive(timeout=SHORT) is None
    owner.start()
    assert receive(timeout=LONG) is not None


@rule("CN-6")
def test_connect_receive_timeouts(session: Session, queue: Queue) -> None:
    """A receive without a message ends with None after its timeout, 0 at once; after close it is an error."""
    consumer = session.create_consumer(queue)
    assert consumer.receive(timeout=0.05) is None
    assert consumer.receive(timeout=0) is None
    assert consumer.receive_no_wait() is None
    consumer.close()
    for receive in (consumer.receive, consumer.receive_no_wait, lambda: consumer.receive(timeout=0)):
        with pytest.raises(IllegalStateException):
            receive()


@rule("CN-6")
def test_connect_receive_for_ever_ends_with_the_consumer(session: Session, queue: Queue) -> None:
    """A receive without a time-out keeps waiting, and returns None when the consumer is closed."""
    consumer = session.create_consumer(queue)
    waiting = run_thread(consumer.receive)
    assert not wait([waiting], timeout=SHORT).done
    consumer.close()
    assert waiting.result(LONG) is None


@rule("CN-7")
def test_connect_receive_no_wait_sees_what_the_broker_has(harness: Harness, session: Session, queue: Queue) -> None:
    """The first call on a new consumer returns a message that was confirmed before."""
    send_texts(session, queue, "one", "two")
    consumer = session.create_consumer(queue)
    assert [message.get_body(str) for message in receive_at_once(harness, consumer, 2)] == ["one", "two"]
    assert consumer.receive_no_wait() is None


@rule("CN-8")
def test_connect_exception_listener_reads_back(harness: Harness) -> None:
    """The listener can be read back and removed; at first there is none."""
    connection = harness.connect()
    assert connection.exception_listener is None

    def listener(error: JMSException) -> None:
        raise AssertionError(error)

    connection.exception_listener = listener
    assert connection.exception_listener is listener
    connection.exception_listener = None
    assert connection.exception_listener is None
    context = harness.context()
    context.exception_listener = listener
    assert context.exception_listener is listener


@rule("CN-8")
def test_connect_exception_listener_is_called_for_a_lost_connection(harness: Harness) -> None:
    """When reconnecting is given up the listener is called, once, and may close the connection."""
    connection = harness.connect(reconnect_attempts=0)
    connection.create_session()
    heard: list[BaseException] = []
    closed = threading.Event()

    def listener(error: JMSException) -> None:
        heard.append(error)
        connection.close()
        closed.set()

    connection.exception_listener = listener
    harness.cut()
    assert closed.wait(LONG)
    assert [isinstance(error, JMSException) for error in heard] == [True]
    with pytest.raises(IllegalStateException):
        connection.create_session()


@rule("QU-1")
def test_connect_destinations_do_not_need_the_broker(harness: Harness) -> None:
    """Destinations are created without the broker, also while the link is down; they compare by name and kind."""
    session = harness.connect(start=False).create_session()
    harness.cut()
    name = harness.name("destination")
    queue, topic = session.create_queue(name), session.create_topic(name)
    assert (queue.queue_name, topic.topic_name) == (name, name)
    assert (queue, topic) == (Queue(name), Topic(name))
    assert queue != topic


@rule("QU-1")
@pytest.mark.parametrize("kind", [Queue, Topic])
def test_connect_destinations_are_values(harness: Harness, kind: type[Queue] | type[Topic]) -> None:
    """Destinations compare, hash and pickle by kind and name, and print their name."""
    name = harness.name("destination")
    one, same, other = kind(name), kind(name), kind(name + "x")
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert {one: 1}[same] == 1
    assert pickle.loads(pickle.dumps(one)) == one
    assert str(one) == name
