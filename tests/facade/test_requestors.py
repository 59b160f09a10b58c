"""Requestors whose replies come late."""

from concurrent.futures import ThreadPoolExecutor

from jmsbridge import ConnectionFactory, TextMessage
from jmsbridge.domain import QueueRequestor


def test_a_late_reply_is_not_that_of_the_next_request(factory: ConnectionFactory) -> None:
    with factory.create_connection() as connection:
        connection.start()
        session, serving = connection.create_session(), connection.create_session()
        queue = session.create_queue("questions")
        questions, answers = serving.create_consumer(queue), serving.create_producer(None)

        def answer(text: str) -> None:
            question = questions.receive(timeout=5)
            assert question is not None
            reply = TextMessage(text)
            reply.jms_correlation_id = question.jms_message_id
            assert question.jms_reply_to is not None
            answers.send(question.jms_reply_to, reply)

        with QueueRequestor(session, queue) as requestor:
            assert requestor.request("first", timeout=0.02) is None
            answer("late")
            with ThreadPoolExecutor(1) as threads:
                answered = threads.submit(answer, "in time")
                reply = requestor.request("second", timeout=5)
                answered.result()
            assert isinstance(reply, TextMessage)
            assert reply.text == "in time"
