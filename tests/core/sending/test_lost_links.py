"""Thousands of sends while links are lost: each has one outcome, and confirmed messages are at the broker."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import Connection, InDoubt, Message, Queue
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, Completions, eventually, run_thread

Connect = Callable[..., Connection]
SENDS = 3000
KILLS = 60
QUEUE = Queue("orders")
_start = random.SystemRandom().randrange(1 << 30)


def _check(backend: ScriptedBackend, sent: list[Message], completions: Completions) -> None:
    """One callback per message in send order; completed messages are at the broker, certainly failed ones are not."""
    events = completions.wait(len(sent), timeout=20.0)
    assert [event[1] for event in events] == sent
    accepted = Counter(envelope.message_id for envelope in backend.accepted)
    assert max(accepted.values()) == 1
    confirmed = {event[1].jms_message_id for event in events if event[0] == "completed"}
    assert confirmed <= accepted.keys()
    refused = [event[1].jms_message_id for event in events if event[0] == "failed" and not _in_doubt(event)]
    assert not accepted.keys() & set(refused)
    assert confirmed


def _in_doubt(event: tuple[Any, ...]) -> bool:
    return isinstance(event[2], InDoubt)


def _wait_next_link(backend: ScriptedBackend) -> None:
    """Wait until the next link has the session's channel."""
    eventually(lambda: backend.link.error is None and backend.link.channels)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_losses_with_shuffled_answers(backend: ScriptedBackend, connect: Connect, seed: int) -> None:
    """Answers are delayed, come in any order, and are missing when the link is lost between two sends."""
    chance = random.Random(seed)
    kills = set(chance.sample(range(SENDS), KILLS))
    backend.hold("send")

    completions = Completions()
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    sent: list[Message] = []
    for number in range(SENDS):
        sent.append(session.create_text_message(str(number)))
        producer.send(sent[-1], completion_listener=completions)
        if number in kills:
            backend.link.cut(applied=chance.randint(0, 30))
            _wait_next_link(backend)
        elif number % 50 == 49:
            backend.release("send", chance.randint(1, 60), order=lambda held: chance.sample(held, len(held)))
    backend.release("send", order=lambda held: chance.sample(held, len(held)))
    _check(backend, sent, completions)
    assert len(backend.links) == KILLS + 1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(_start, _start + 100))
def test_losses_with_another_seed(backend: ScriptedBackend, connect: Connect, seed: int) -> None:
    test_losses_with_shuffled_answers(backend, connect, seed)
    assert len(backend.links) == KILLS + 1


def test_losses_with_answers_from_the_io_thread(backend: ScriptedBackend, connect: Connect) -> None:
    """Answers come concurrently from the backend's thread, and the link is lost during sends."""
    chance = random.Random(7)
    kills = set(chance.sample(range(SENDS), KILLS))
    backend.script.answer_later("send")

    def on_send(call: Call) -> None:
        if int(call.detail.body) in kills:
            backend.link.cut(applied=chance.randint(0, 5))

    backend.script.before["send"] = on_send
    completions = Completions()
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    sent: list[Message] = []
    for number in range(SENDS):
        sent.append(session.create_text_message(str(number)))
        producer.send(sent[-1], completion_listener=completions)
        if number in kills:
            _wait_next_link(backend)
    _check(backend, sent, completions)
    assert len(backend.links) > KILLS // 2


def test_losses_during_synchronous_sends_lose_nothing(backend: ScriptedBackend, connect: Connect) -> None:
    """A message whose send returned is at the broker; a send that was never written is repeated."""
    kills = set(random.Random(11).sample(range(500), 20))

    def on_send(call: Call) -> None:
        if int(call.detail.body) in kills:
            kills.discard(int(call.detail.body))
            backend.link.cut()

    backend.script.before["send"] = on_send
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    for number in range(500):
        producer.send(session.create_text_message(str(number)))
    assert [envelope.body for envelope in backend.accepted] == [str(number) for number in range(500)]
    assert len(backend.links) == 21


def test_losses_with_resend_repeat_under_the_same_id(backend: ScriptedBackend, connect: Connect) -> None:
    """resend = True: a message that the broker took without confirming is there twice, with the same message id."""
    backend.hold("send")
    session = connect(resend=True).create_session()
    producer = session.create_producer(QUEUE)
    message = session.create_text_message("twice")
    sending = run_thread(lambda: producer.send(message))
    backend.script.wait_held("send")
    backend.script.answer_inline("send")
    backend.link.cut(applied=1)
    sending.result(LONG)
    assert [envelope.message_id for envelope in backend.accepted] == [message.jms_message_id] * 2


def test_losses_with_resend_raise_in_doubt_if_no_link_comes(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(resend=True, send_timeout=0.5).create_session()
    producer = session.create_producer(QUEUE)
    message = session.create_text_message("once")
    sending = run_thread(lambda: producer.send(message))
    backend.script.wait_held("send")
    backend.refuse(1000)
    backend.link.cut(applied=1)
    with pytest.raises(InDoubt) as caught:
        sending.result(LONG)
    assert caught.value.unknown == (message,)


def test_losses_without_resend_raise_in_doubt(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    message = session.create_text_message("once")
    sending = run_thread(lambda: producer.send(message))
    backend.script.wait_held("send")
    backend.script.answer_inline("send")
    backend.link.cut(applied=1)
    with pytest.raises(InDoubt) as caught:
        sending.result(LONG)
    assert caught.value.unknown == (message,)
    producer.send(session.create_text_message("next"))
    assert [envelope.body for envelope in backend.accepted] == ["once", "next"]
