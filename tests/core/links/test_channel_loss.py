"""One channel is lost while its link stays: its session gets another one, and other sessions are not affected."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge
from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    Connection,
    IllegalStateException,
    InDoubtException,
    JMSException,
    Queue,
    Session,
    TransactionRolledBackException,
)
from jmsbridge.core.links import channel_deaths
from jmsbridge.spi import Address, BackendError, ChannelLost, Native, Outcome, SubscriptionRefused
from jmsbridge.testing.scripted import Call, ScriptedBackend, ScriptedChannel, text_envelope
from jmsbridge.testing.suite.support import LONG, Completions, eventually, receive_texts, run_thread, send_texts

Connect = Callable[..., Connection]
QUEUE, OTHER = Queue("orders"), Queue("other")
ADDRESS = Address("orders")
ERROR = ChannelLost("the broker closed the channel")


def _lose(backend: ScriptedBackend, number: int = 0, error: BackendError = ERROR) -> ScriptedChannel:
    channel = backend.link.channels[number]
    channel.lose(error)
    return channel


def _remade(backend: ScriptedBackend, channels: int) -> None:
    """Wait until the newest channel's subscription has credit, which is the end of its recovery."""
    eventually(lambda: len(backend.link.channels) == channels and backend.subscription.credit > 0)
    assert backend.subscription.channel is backend.link.channels[-1]


def test_the_session_continues_on_another_channel(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    _lose(backend)
    _remade(backend, 2)
    backend.subscription.deliver(text_envelope(ADDRESS, "again"))
    assert receive_texts(consumer, 1) == ["again"]
    send_texts(session, QUEUE, "sent")
    assert [envelope.body for envelope in backend.accepted] == ["sent"]
    assert len(backend.links) == 1


def test_other_sessions_are_not_affected(backend: ScriptedBackend, connect: Connect) -> None:
    """Neither their unacknowledged messages nor their transaction."""
    connection = connect()
    session = connection.create_session()
    session.create_consumer(QUEUE)
    client = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    receiving = client.create_consumer(OTHER)
    backend.subscription.deliver(text_envelope(Address("other"), "held"))
    held = receiving.receive(timeout=LONG)
    assert held is not None
    transacted = connection.create_session(transacted=True)
    send_texts(transacted, OTHER, "committed")
    before = len(backend.script.calls)
    _lose(backend)
    eventually(lambda: len(backend.link.channels) == 4 and backend.subscription.credit > 0)
    assert [call.verb for call in backend.script.calls[before:]] == ["channel", "subscribe", "grant"]
    held.acknowledge()
    assert [outcome for _, outcome in backend.settled] == [Outcome.ACCEPTED]
    transacted.commit()
    assert [envelope.body for envelope in backend.accepted] == ["committed"]


def test_messages_of_the_lost_channel_cannot_be_settled(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "held"))
    held = consumer.receive(timeout=LONG)
    assert held is not None
    _lose(backend)
    _remade(backend, 2)
    held.acknowledge()
    assert backend.settled == []
    tokens = backend.subscription.deliver(text_envelope(ADDRESS, "held"), redelivered=True)
    again = consumer.receive(timeout=LONG)
    assert again is not None
    again.acknowledge()
    assert backend.settled == [(tokens[0], Outcome.ACCEPTED)]


def test_the_transaction_of_the_session_is_rolled_back(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(transacted=True)
    session.create_consumer(QUEUE)
    send_texts(session, QUEUE, "lost")
    _lose(backend)
    _remade(backend, 2)
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    send_texts(session, QUEUE, "kept")
    session.commit()
    assert [envelope.body for envelope in backend.accepted] == ["kept"]


def test_unanswered_sends_of_the_session_are_in_doubt(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    completions = Completions()
    backend.hold("send")
    message = session.create_text_message("unknown")
    session.create_producer(QUEUE).send(message, completion_listener=completions)
    _lose(backend)
    event = completions.wait(1)[0]
    assert event[0] == "failed"
    assert isinstance(event[2], InDoubtException)
    assert list(event[2].unknown) == [message]


def test_senders_wait_for_the_next_channel(backend: ScriptedBackend, connect: Connect) -> None:
    """From the report of the loss on, and however often the next channel cannot be opened."""
    session = connect().create_session()
    refused: list[Call] = []

    def refuse(call: Call) -> None:
        if len(refused) < 3:
            refused.append(call)
            raise BackendError("no more channels for now")

    backend.script.before["channel"] = refuse
    _lose(backend)
    completions = Completions()
    session.create_producer(QUEUE).send(session.create_text_message("async"), completion_listener=completions)
    send_texts(session, QUEUE, "sync")
    assert [event[0] for event in completions.wait(1)] == ["completed"]
    assert [envelope.body for envelope in backend.accepted] == ["async", "sync"]
    assert len(refused) == 3
    assert len(backend.links) == 1


def test_a_blocked_receive_gets_the_next_message(backend: ScriptedBackend, connect: Connect) -> None:
    consumer = connect().create_session().create_consumer(QUEUE)
    receiving = run_thread(lambda: receive_texts(consumer, 1))
    _lose(backend)
    _remade(backend, 2)
    backend.subscription.deliver(text_envelope(ADDRESS, "late"))
    assert receiving.result(LONG) == ["late"]


def test_a_consumer_that_is_being_made_is_made_on_the_next_channel(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()

    def lose_once(call: Call) -> None:
        del backend.script.before["subscribe"]
        _lose(backend)

    backend.script.before["subscribe"] = lose_once
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "here"))
    assert receive_texts(consumer, 1) == ["here"]
    assert len(backend.links) == 1


def test_a_channel_lost_before_its_session_is_registered(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect()
    join = connection._core.join

    def lose_first(session: object, epoch: int) -> bool:
        _lose(backend)
        connection._core.supervisor.executor.wake()
        return join(session, epoch)  # type: ignore[arg-type]

    monkeypatch.setattr(connection._core, "join", lose_first)
    session = connection.create_session()
    send_texts(session, QUEUE, "sent")
    assert [envelope.body for envelope in backend.accepted] == ["sent"]
    assert len(backend.links) == 1


def test_the_exception_listener_is_called_once_for_repeated_losses(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[JMSException] = []
    connection = connect()
    connection.exception_listener = heard.append
    connection.create_session().create_consumer(QUEUE)
    for number in range(3):
        _lose(backend, number)
        _remade(backend, number + 2)
    assert [error.error_code for error in heard] == ["ChannelLost"]


def _dying(backend: ScriptedBackend) -> Callable[[Call], None]:
    def die(call: Call) -> None:
        _lose(backend, -1, SubscriptionRefused("an invalid selector"))

    return die


def test_a_session_whose_channels_are_lost_repeatedly_is_closed(backend: ScriptedBackend, connect: Connect) -> None:
    """After growing pauses it is closed, every waiting call gets the reason, and other sessions continue."""
    heard: list[JMSException] = []
    connection = connect(reconnect_delay=0.001)
    connection.exception_listener = heard.append
    other = connection.create_session()
    session = connection.create_session()
    consumer = session.create_consumer(QUEUE)
    receiving = run_thread(consumer.receive)
    backend.script.before["grant"] = _dying(backend)
    _lose(backend, -1)
    with pytest.raises(JMSException, match=r"lost 9 times in a row.*an invalid selector"):
        receiving.result(LONG)
    with pytest.raises(JMSException, match="an invalid selector"):
        send_texts(session, QUEUE, "never")
    eventually(lambda: len(heard) == 2)
    assert "has ended" in str(heard[1])
    assert len(backend.link.channels) == 1 + 1 + channel_deaths._MOST
    send_texts(other, QUEUE, "goes on")
    assert len(backend.links) == 1
    del backend.script.before["grant"]
    backend.link.cut()
    send_texts(other, QUEUE, "goes on over the next link")
    with pytest.raises(JMSException, match="an invalid selector"):
        send_texts(session, QUEUE, "never")
    session.close()


def test_a_link_lost_while_a_channel_is_remade(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)

    def cut_once(call: Call) -> None:
        del backend.script.before["subscribe"]
        backend.link.cut()

    backend.script.before["subscribe"] = cut_once
    _lose(backend)
    eventually(lambda: len(backend.links) == 2 and bool(backend.link.subscriptions))
    eventually(lambda: backend.subscription.credit > 0)
    backend.subscription.deliver(text_envelope(ADDRESS, "again"))
    assert receive_texts(consumer, 1) == ["again"]
    send_texts(session, QUEUE, "sent")


def test_a_session_closed_while_its_new_channel_is_installed(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever moment the session closes, the new channel is closed with it."""
    session = connect().create_session()
    channel = session._core.channel
    put_to_use = channel._attach

    def attach(*arguments: Any) -> None:
        run_thread(session.close).result(LONG)
        put_to_use(*arguments)

    monkeypatch.setattr(channel, "_attach", attach)
    _lose(backend)
    eventually(lambda: backend.script.count("close-channel") == 1)


@pytest.mark.parametrize("verb", ["channel", "subscribe"])
def test_a_channel_lost_while_its_link_recovers(backend: ScriptedBackend, connect: Connect, verb: str) -> None:
    """The link is kept: other sessions continue, and this one gets another channel."""
    connection = connect(reconnect_delay=0.001)
    consumer = connection.create_session().create_consumer(QUEUE)
    other = connection.create_session()
    deaths = iter([ERROR, ERROR])

    def die_twice(call: Call) -> None:
        for error in deaths:
            raise error

    backend.script.before[verb] = die_twice
    backend.link.cut()
    eventually(lambda: len(backend.links) > 1 and bool(backend.link.subscriptions) and backend.subscription.credit > 0)
    backend.subscription.deliver(text_envelope(ADDRESS, "again"))
    assert receive_texts(consumer, 1) == ["again"]
    send_texts(other, QUEUE, "goes on")
    assert len(backend.links) == 2


def test_a_channel_lost_while_the_client_id_is_set(backend: ScriptedBackend) -> None:
    with jmsbridge.context("scripted:", reconnect_delay=0.001, send_timeout=2.0) as context:
        deaths = iter([ERROR])

        def die_once(call: Call) -> None:
            for error in deaths:
                raise error

        backend.script.before["channel"] = die_once
        context.client_id = "me"
        context.create_producer().send(QUEUE, "sent")
    assert [envelope.body for envelope in backend.accepted] == ["sent"]
    assert len(backend.links) == 2


def test_a_channel_whose_recovery_fails_is_closed(backend: ScriptedBackend, connect: Connect) -> None:
    """It would keep an exclusive subscription in use."""
    session = connect().create_session()
    session.create_consumer(QUEUE)
    session.create_consumer(OTHER)
    count = backend.script.count("subscribe")

    def refuse_second(call: Call) -> None:
        if backend.script.count("subscribe") == count + 2:
            raise SubscriptionRefused("still the lost channel's")

    backend.script.before["subscribe"] = refuse_second
    _lose(backend)
    eventually(lambda: backend.script.verbs().count("grant") == 4)
    assert backend.script.count("close-channel") == 1
    assert len(backend.link.channels) == 3


@pytest.mark.parametrize("failures", [3, 1000])
def test_a_queue_that_does_not_answer_on_the_next_link_is_asked_again(
    backend: ScriptedBackend, connect: Connect, failures: int
) -> None:
    """By this session alone, and not for ever: a queue without a leader may get one soon, or never."""
    connection = connect()
    other = connection.create_session()
    session = connection.create_session()
    consumer = session.create_consumer(QUEUE)
    failed: list[Call] = []

    def stay_silent(call: Call) -> None:
        if len(failed) < failures:
            failed.append(call)
            raise BackendError("no answer within 20 s")

    backend.script.before["subscribe"] = stay_silent
    backend.link.cut()
    send_texts(other, OTHER, "meanwhile")
    send_texts(session, QUEUE, "afterwards")
    assert len(backend.links) == 2
    if failures == 3:
        backend.subscription.deliver(text_envelope(ADDRESS, "again"))
        assert receive_texts(consumer, 1) == ["again"]
    else:
        with pytest.raises(JMSException, match="no answer within 20 s"):
            consumer.receive(timeout=LONG)
        assert len(failed) == 6


def test_a_session_that_closes_meanwhile_stays_closed(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(reconnect_delay=0.001)
    session: Session = connection.create_session()
    session.create_consumer(QUEUE)
    backend.script.before["channel"] = lambda call: session.close()
    _lose(backend)
    eventually(lambda: connection._core.sessions == ())
    eventually(lambda: len(backend.link.channels) == 2)
    assert backend.script.verbs()[-1] == "close-channel"


@pytest.mark.parametrize("native", [True, False])
def test_a_commit_in_progress_fails_as_rolled_back_or_in_doubt(
    connect: Connect, backend: ScriptedBackend, native: bool
) -> None:
    if not native:
        backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    with pytest.warns() if not native else _nothing():
        session = connect(emulation="allow").create_session(transacted=True)
    session.create_consumer(QUEUE)
    send_texts(session, QUEUE, "a")
    backend.hold("commit" if native else "send")
    committing = run_thread(session.commit)
    backend.script.wait_held("commit" if native else "send")
    _lose(backend)
    with pytest.raises(InDoubtException):
        committing.result(LONG)
    backend.script.answer_inline("send", "commit")
    _remade(backend, 2)
    send_texts(session, QUEUE, "b")
    session.commit()
    assert [envelope.body for envelope in backend.accepted] == ["b"]


def _nothing() -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def test_a_session_closed_while_it_subscribes_waits_for_no_other_channel(
    backend: ScriptedBackend, connect: Connect
) -> None:
    session = connect(send_timeout=2.0).create_session()

    def close(_: object) -> None:
        backend.script.before.clear()
        run_thread(session.close).result(LONG)
        backend.link.channels[0].error = ChannelLost("the channel is closed")

    backend.script.before["subscribe"] = close
    with pytest.raises(IllegalStateException, match="closed"):
        session.create_consumer(QUEUE)
