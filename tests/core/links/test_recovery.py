"""A connection over several links: phases, epochs, credit, and what is dropped on the way."""

import threading
import time
from collections.abc import Callable

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    JMSException,
    Message,
    Queue,
    TextMessage,
    Topic,
    UnsupportedFeatureException,
)
from jmsbridge.spi import Address, AuthenticationFailed, Native, Outcome, SubscriptionRefused
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Collector,
    Completions,
    eventually,
    receive_texts,
    run_thread,
    send_texts,
)

Connect = Callable[..., Connection]
QUEUE = Queue("orders")
ADDRESS = Address("orders")


def _restored(backend: ScriptedBackend, number: int) -> None:
    """Wait until link ``number`` grants credit, which is the end of recovery."""
    eventually(lambda: len(backend.links) == number and "grant" in backend.script.verbs(number))


def test_recovery_grants_credit_last(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    for _ in range(2):
        session = connection.create_session()
        session.create_consumer(QUEUE)
        session.create_consumer(Topic("news"))
    backend.link.cut()
    eventually(lambda: backend.script.verbs(2).count("grant") == 4)
    verbs = backend.script.verbs(2)
    first_grant = verbs.index("grant")
    assert verbs[0] == "open"
    assert verbs[:first_grant].count("channel") == 2
    assert verbs[:first_grant].count("subscribe") == 4
    assert set(verbs[first_grant:]) == {"grant"}


def test_recovery_makes_temporary_destinations_first(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session()
    session.create_consumer(session.create_temporary_queue())
    backend.link.cut()
    _restored(backend, 2)
    verbs = backend.script.verbs(2)
    assert verbs.index("declare") < verbs.index("subscribe") < verbs.index("grant")


def test_recovery_of_a_stopped_connection_grants_nothing(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(start=False)
    connection.create_session().create_consumer(QUEUE)
    backend.link.cut()
    eventually(lambda: "subscribe" in backend.script.verbs(2))
    connection.create_session()
    assert "grant" not in backend.script.verbs(2)


def test_recovery_tries_until_it_succeeds(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session()
    backend.refuse(5)
    backend.link.cut()
    send_texts(session, QUEUE, "after")
    assert backend.script.count("open") == 1 + 5 + 1
    assert [envelope.body for envelope in backend.accepted] == ["after"]


def test_links_that_are_lost_soon_come_with_growing_pauses(backend: ScriptedBackend, connect: Connect) -> None:
    """As when a message, which comes again on each link, makes it end: the broker gets no storm of connections."""
    connection = connect(reconnect_delay=0.02, reconnect_delay_max=0.4)
    connection.create_session().create_consumer(QUEUE)
    ended: list[int] = []

    def cut_later(call: Call) -> None:
        if call.link not in ended:
            ended.append(call.link)
            threading.Timer(0.005, backend.link.cut).start()

    backend.script.before["grant"] = cut_later
    backend.link.cut()
    eventually(lambda: len(ended) >= 4)
    time.sleep(1.5)  # sleep: pauses of 0.02 to 0.25 s, less the jitter, leave room for few more
    assert len(ended) <= 4 + 16
    del backend.script.before["grant"]
    eventually(lambda: connection.state == "connected")


def test_recovery_begins_again_when_the_new_link_dies(backend: ScriptedBackend, connect: Connect) -> None:
    """A link that is lost during recovery is treated like any other lost link."""
    connection = connect()
    session = connection.create_session()
    session.create_consumer(QUEUE)

    def cut_thrice(call: Call) -> None:
        if call.link < 4:
            backend.link.cut()

    backend.script.before["subscribe"] = cut_thrice
    backend.link.cut()
    _restored(backend, 4)
    send_texts(session, QUEUE, "after")
    assert [envelope.body for envelope in backend.accepted] == ["after"]


def _fail_half_way(backend: ScriptedBackend, meanwhile: Callable[[], None]) -> None:
    """Let link 2 subscribe to everything except the queue "other", after ``meanwhile``."""

    def refuse(call: Call) -> None:
        if call.link == 2 and call.detail.address == Address("other"):
            meanwhile()
            raise SubscriptionRefused("the broker has not noticed the loss of the old link")

    backend.script.before["subscribe"] = refuse


def test_recovery_that_fails_half_way_grants_credit_on_the_next_link(
    backend: ScriptedBackend, connect: Connect
) -> None:
    connection = connect(start=False)
    connection.create_session().create_consumer(QUEUE)
    connection.create_session().create_consumer(Queue("other"))
    _fail_half_way(backend, connection.start)
    backend.link.cut()
    eventually(lambda: len(backend.links) == 3 and backend.script.verbs(3).count("grant") == 2)


def test_recovery_that_fails_half_way_drops_what_its_link_delivered(backend: ScriptedBackend, connect: Connect) -> None:
    """A token is valid only on its own link: on the next one it could identify another message."""
    connection = connect()
    session = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE, prefetch=0)
    consumer = session.create_consumer(QUEUE)
    connection.create_session().create_consumer(Queue("other"))
    receiving = run_thread(lambda: consumer.receive(timeout=LONG))

    def deliver() -> None:
        eventually(lambda: "grant" in backend.script.verbs(2))
        backend.subscription.deliver(text_envelope(ADDRESS, "half"))
        assert receiving.result(LONG) is not None

    _fail_half_way(backend, deliver)
    backend.link.cut()
    eventually(lambda: len(backend.links) == 3 and backend.script.verbs(3).count("subscribe") == 2)
    send_texts(session, QUEUE, "restored")
    message = receiving.result(LONG)
    assert message is not None
    message.acknowledge()
    assert backend.settled == []
    assert "settle" not in backend.script.verbs(3)


def test_recovery_given_up_is_reported(backend: ScriptedBackend, connect: Connect) -> None:
    """The exception listener is called once, after the last attempt; then every call fails at once."""
    heard: list[Exception] = []
    connection = connect(reconnect_attempts=3)
    connection.exception_listener = heard.append
    session = connection.create_session()
    backend.refuse(100)
    backend.link.cut()
    eventually(lambda: heard)
    assert backend.script.count("open") == 1 + 3
    with pytest.raises(JMSException):
        send_texts(session, QUEUE, "never")
    assert len(heard) == 1
    assert isinstance(heard[0], JMSException)


def test_recovery_that_succeeds_is_not_reported(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[Exception] = []
    connection = connect()
    connection.exception_listener = heard.append
    session = connection.create_session()
    backend.refuse(2)
    backend.link.cut()
    send_texts(session, QUEUE, "after")
    assert heard == []


def test_recovery_does_not_repeat_refused_credentials(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[Exception] = []
    connection = connect(reconnect_attempts=50)
    connection.exception_listener = heard.append
    backend.refuse(100, AuthenticationFailed("the password has changed"))
    backend.link.cut()
    eventually(lambda: heard)
    assert backend.script.count("open") == 2


def test_recovery_does_not_count_attempts_without_network(backend: ScriptedBackend, connect: Connect) -> None:
    """After a long outage a subscription may still count as in use by the lost link; that is retried."""
    heard: list[Exception] = []
    connection = connect()
    connection.exception_listener = heard.append
    connection.create_session().create_consumer(QUEUE)
    refused: list[int] = []

    def in_use(call: Call) -> None:
        if len(refused) < 3:
            refused.append(call.link)
            raise SubscriptionRefused("still the lost link's")

    backend.refuse(10)
    backend.script.before["subscribe"] = in_use
    backend.link.cut()
    _restored(backend, 1 + 3 + 1)
    assert len(refused) == 3
    assert heard == []


def test_recovery_empties_inboxes(backend: ScriptedBackend, connect: Connect) -> None:
    """Prefetched messages of the lost link are dropped; the new link delivers them."""
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(*(text_envelope(ADDRESS, text) for text in ("a", "b")))
    backend.link.cut()
    _restored(backend, 2)
    assert consumer.receive(timeout=SHORT) is None
    backend.subscription.deliver(text_envelope(ADDRESS, "a"), redelivered=True)
    assert receive_texts(consumer, 1) == ["a"]


def test_recovery_does_not_end_a_waiting_receive(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    receiving = run_thread(lambda: consumer.receive(timeout=LONG))
    backend.link.cut()
    _restored(backend, 2)
    assert not receiving.done()
    backend.subscription.deliver(text_envelope(ADDRESS, "late"))
    message = receiving.result(LONG)
    assert isinstance(message, TextMessage)
    assert message.text == "late"


def test_recovery_drops_stale_acknowledgements(backend: ScriptedBackend, connect: Connect) -> None:
    """acknowledge() for messages of an old link succeeds, and does not reach the new link."""
    session = connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "a"))
    old = consumer.receive(timeout=LONG)
    assert old is not None
    backend.link.cut()
    _restored(backend, 2)
    old.acknowledge()
    assert backend.settled == []
    assert "settle" not in backend.script.verbs(2)
    backend.subscription.deliver(text_envelope(ADDRESS, "a"), redelivered=True)
    new = consumer.receive(timeout=LONG)
    assert new is not None
    assert new.jms_redelivered
    new.acknowledge()
    assert [outcome for _, outcome in backend.settled] == [Outcome.ACCEPTED]


@pytest.mark.parametrize("ends", ["recover", "rollback", "commit"])
def test_recovery_marks_what_waited_for_redelivery(backend: ScriptedBackend, connect: Connect, ends: str) -> None:
    """Messages that the application had, and that wait in the client when the link is lost, come again marked."""
    mode = CLIENT_ACKNOWLEDGE if ends == "recover" else SESSION_TRANSACTED
    session = connect().create_session(session_mode=mode)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(*(text_envelope(ADDRESS, text) for text in "ab"))
    assert receive_texts(consumer, 2) == ["a", "b"]
    if ends == "commit":
        backend.script.before["commit"] = lambda call: backend.link.cut()
        with pytest.raises(JMSException):
            session.commit()
    else:
        getattr(session, ends)()
        backend.link.cut()
    _restored(backend, 2)
    backend.subscription.deliver(*(text_envelope(ADDRESS, text) for text in "abc"))
    again = [consumer.receive(timeout=LONG) for _ in range(3)]
    assert [message is not None and message.jms_redelivered for message in again] == [True, True, False]


def test_recovery_counts_dropped_settlements(backend: ScriptedBackend, connect: Connect) -> None:
    """A settlement on a lost link that the supervisor has not noticed yet is counted, and raises no error."""
    session = connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(*(text_envelope(ADDRESS, text) for text in "abc"))
    messages = [consumer.receive(timeout=LONG) for _ in range(3)]
    assert messages[2] is not None
    inbox = consumer._receiver.inbox

    def cut(call: Call) -> None:
        del backend.script.before["settle"]
        backend.link.cut()

    backend.script.before["settle"] = cut
    messages[2].acknowledge()
    assert inbox.stale == 3
    assert backend.settled == []


def test_recovery_ignores_events_of_an_old_link(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session()
    old = backend.link
    old.cut()
    send_texts(session, QUEUE, "on two")
    assert old.error is not None
    old.events.lost(old.error)
    old.channels[0].lose(old.error)
    send_texts(session, QUEUE, "still on two")
    assert len(backend.links) == 2


def test_recovery_makes_asynchronous_sends_wait(backend: ScriptedBackend, connect: Connect) -> None:
    """From the loss of the link to its recovery, which a busy exception listener does not delay."""
    inside, leave = threading.Event(), threading.Event()

    def listener(error: Exception) -> None:
        inside.set()
        assert leave.wait(LONG)

    connection = connect()
    connection.exception_listener = listener
    session = connection.create_session()
    session.create_consumer(Queue("deleted"))
    producer = session.create_producer(QUEUE)
    completions = Completions()
    backend.subscription.lose(SubscriptionRefused("the queue was deleted"))
    assert inside.wait(LONG)
    backend.link.cut()
    message = session.create_text_message("patient")
    sending = run_thread(lambda: producer.send(message, completion_listener=completions))
    sending.result(LONG)
    assert completions.wait(1) == [("completed", message)]
    assert not leave.is_set()
    leave.set()


def test_recovery_under_a_listener(backend: ScriptedBackend, connect: Connect) -> None:
    """The link is lost while the listener runs; its acknowledgement is dropped, and delivery continues."""

    def on(message: Message) -> None:
        if message.get_body(str) == "a":
            backend.link.cut()

    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    collector = Collector(on)
    consumer.message_listener = collector
    first = backend.subscription
    first.deliver(text_envelope(ADDRESS, "a"))
    collector.wait(1)
    _restored(backend, 2)
    backend.subscription.deliver(text_envelope(ADDRESS, "b"))
    collector.wait(2)
    assert collector.texts == ["a", "b"]
    eventually(lambda: len(backend.settled) == 1)


def test_recovery_with_shrinking_credit(backend: ScriptedBackend, connect: Connect) -> None:
    """Each new link begins with the full window, whatever was unsettled on the old one."""
    session = connect(prefetch=10).create_session()
    session.create_consumer(QUEUE)
    backend.subscription.deliver(*(text_envelope(ADDRESS, str(number)) for number in range(7)))
    backend.link.cut()
    _restored(backend, 2)
    assert backend.subscription.credit == 10


def test_recovery_on_a_broker_with_fewer_features_closes_affected_consumers(
    backend: ScriptedBackend, connect: Connect
) -> None:
    """A consumer whose feature is now refused is reported and ends, so that its receives raise; others continue."""
    heard: list[Exception] = []
    connection = connect(client_id="me")
    connection.exception_listener = heard.append
    session = connection.create_session()
    plain = session.create_consumer(QUEUE)
    durable = session.create_durable_consumer(Topic("news"), "sub")
    backend.lower(Native.DURABLE)
    backend.link.cut()
    eventually(lambda: heard)
    _restored(backend, 2)
    assert [call.detail.durable for call in backend.script.calls if call.link == 2 and call.verb == "subscribe"] == [
        False
    ]
    backend.subscription.deliver(text_envelope(ADDRESS, "still here"))
    assert receive_texts(plain, 1) == ["still here"]
    assert "durable" in str(heard[0])
    with pytest.raises(UnsupportedFeatureException, match="durable"):
        durable.receive(timeout=SHORT)


def test_recovery_does_not_reopen_closed_objects(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session()
    closed = session.create_consumer(QUEUE)
    session.create_consumer(Queue("kept"))
    connection.create_session().close()
    closed.close()
    backend.link.cut()
    _restored(backend, 2)
    assert backend.script.verbs(2).count("channel") == 1
    assert [each.interest.address.name for each in backend.link.subscriptions] == ["kept"]


def test_close_during_recovery_returns(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(reconnect_delay=10.0, reconnect_delay_max=10.0)
    session = connection.create_session()
    consumer = session.create_consumer(QUEUE)
    receiving = run_thread(consumer.receive)
    backend.refuse(100)
    backend.link.cut()
    backend.script.wait_call("open", 2)
    run_thread(connection.close).result(LONG)
    assert receiving.result(LONG) is None


def test_loss_of_one_subscription_is_reported(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[Exception] = []
    connection = connect()
    connection.exception_listener = heard.append
    session = connection.create_session()
    consumer = session.create_consumer(QUEUE)
    backend.subscription.lose(SubscriptionRefused("the queue was deleted"))
    eventually(lambda: heard)
    assert "deleted" in str(heard[0])
    with pytest.raises(JMSException, match="deleted"):
        consumer.receive(timeout=SHORT)
    assert len(backend.links) == 1
