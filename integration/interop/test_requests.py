"""Requests of one language, answered by the other at a temporary queue or a temporary topic."""

from collections.abc import Callable

import pytest

import jmsbridge
from integration.interop.comparing import unlisted
from integration.interop.describing import describe
from integration.interop.matrix import Sample
from integration.interop.way import PATIENCE, Way, ways

Connect = Callable[..., jmsbridge.Connection]


def words(message: jmsbridge.Message | None) -> str | None:
    """Its text, also where the client sends texts as bytes."""
    if isinstance(message, jmsbridge.TextMessage):
        return message.text
    assert isinstance(message, jmsbridge.BytesMessage)
    return (message.get_body(bytes) or b"").decode()


@pytest.mark.parametrize("way", ways(lambda row: "queue" in row.java_temporary), indirect=True)
def test_python_answers_java_at_a_temporary_queue(way: Way, connect: Connect, name: str) -> None:
    python_answers(way, connect, name, "queue")


@pytest.mark.parametrize("way", ways(lambda row: row.temporary_topics and "topic" in row.java_temporary), indirect=True)
def test_python_answers_java_at_a_temporary_topic(way: Way, connect: Connect, name: str) -> None:
    python_answers(way, connect, name, "topic")


def python_answers(way: Way, connect: Connect, name: str, kind: str) -> None:
    """Java asks."""
    session = connect().create_session()
    consumer = session.create_consumer(session.create_queue(name))
    with way.start("ask", queue=name, text="how much?", topic=kind == "topic") as asking:
        request = consumer.receive(timeout=PATIENCE)
        assert request is not None
        assert request.jms_reply_to is not None
        assert describe(request)["reply_to"][:2] == [kind, True]
        answer = session.create_text_message("42")
        answer.jms_correlation_id = request.jms_message_id
        session.create_producer(request.jms_reply_to).send(answer)
        answered = describe(answer)
        sent, seen = asking.rest()
    assert seen["correlation_id"] == answer.jms_correlation_id
    assert not way.row.keeps_ids or seen["correlation_id"] == sent["message_id"]
    sample = Sample("answer", body="42", correlation=answer.jms_correlation_id)
    cells, _ = unlisted(way.row, "to Java", sample, answered, seen)
    assert cells == {}


def test_java_answers_python_at_a_temporary_queue(way: Way, connect: Connect, name: str) -> None:
    java_answers(way, connect, name, "queue")


@pytest.mark.parametrize("way", ways(lambda row: row.temporary_topics), indirect=True)
def test_java_answers_python_at_a_temporary_topic(way: Way, connect: Connect, name: str) -> None:
    java_answers(way, connect, name, "topic")


def java_answers(way: Way, connect: Connect, name: str, kind: str) -> None:
    """Python asks."""
    session = connect().create_session()
    queue = session.create_queue(name)
    answers = session.create_temporary_queue() if kind == "queue" else session.create_temporary_topic()
    consumer = session.create_consumer(answers)
    session.create_consumer(queue).close()  # now the queue is there
    with way.start("serve", queue=name, count=3) as serving:
        producer = session.create_producer(queue)
        answered = []
        for number in range(3):
            request = session.create_text_message(f"request {number}")
            request.jms_reply_to = answers
            producer.send(request)
            answer = consumer.receive(timeout=PATIENCE)
            assert answer is not None
            answered.append(answer.jms_correlation_id)
            assert not way.row.keeps_ids or answered[-1] == request.jms_message_id
            assert words(answer) == f"re: request {number}"
        assert [seen["message_id"] for seen in serving.rest()] == answered
