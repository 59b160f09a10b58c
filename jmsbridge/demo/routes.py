"""The four scenarios: a queue, a topic, a transaction that is rolled back once, and request with reply."""

import time
from collections.abc import Callable
from functools import partial

from jmsbridge import Connection, Message, Queue, Session, TextMessage, Topic
from jmsbridge.demo.files import TextFile, lines_of
from jmsbridge.demo.lines import (
    PATIENCE,
    Collected,
    Completions,
    collect,
    compare,
    in_threads,
    message_for,
    send_files,
)
from jmsbridge.demo.report import Leg

__all__ = ["by_queue", "by_topic", "by_transaction", "request_and_reply"]

_PRODUCERS = 3
_CONSUMERS = 2
_BATCH = 100


def _shares(files: list[TextFile]) -> list[list[TextFile]]:
    return [files[number::_PRODUCERS] for number in range(_PRODUCERS)]


def _count(files: list[TextFile]) -> int:
    return sum(len(lines_of(file)) for file in files)


def by_queue(connection: Connection, files: list[TextFile], queue: Queue) -> list[Leg]:
    """Several producers and consumers on one queue, each in its thread with its session."""
    completions, collected = Completions(), Collected(_count(files))
    sessions = [connection.create_session() for _ in range(_CONSUMERS)]
    jobs: list[Callable[[], None]] = [
        partial(send_files, connection, queue, part, completions) for part in _shares(files)
    ]
    jobs += [partial(collect, session, queue, collected) for session in sessions]

    def end() -> None:
        collected.wait_complete()
        for session in sessions:
            session.close()  # ends receive() in its thread

    started = time.perf_counter()
    in_threads(jobs, meanwhile=end)
    seconds = time.perf_counter() - started
    missing = () if completions.completed == _count(files) else ("not every send was completed",)
    what = f"queue, {_PRODUCERS} to {_CONSUMERS} threads"
    return [Leg(what, len(collected.lines), seconds, (*completions.problems, *missing, *compare(files, collected)))]


def by_topic(connection: Connection, files: list[TextFile], topic: Topic, name: str) -> list[Leg]:
    """A durable subscriber that is disconnected while lines are published, and a listener with a selector."""
    chosen = [file for file in files if file.name.endswith(".py")]
    live, kept = Collected(_count(chosen)), Collected(_count(files))
    subscribing = connection.create_session()
    subscribing.create_durable_consumer(topic, name).close()
    listening = connection.create_session()
    listening.create_consumer(topic, "kind = 'py'").message_listener = live
    completions = Completions()
    started = time.perf_counter()
    in_threads([partial(send_files, connection, topic, part, completions) for part in _shares(files)])
    live.wait_complete()
    seconds = time.perf_counter() - started
    listening.close()

    returned = time.perf_counter()
    durable = subscribing.create_durable_consumer(topic, name)
    durable.message_listener = kept
    kept.wait_complete()
    away = time.perf_counter() - returned
    durable.close()
    subscribing.unsubscribe(name)
    subscribing.close()
    return [
        Leg("topic, listener with selector", len(live.lines), seconds, compare(chosen, live)),
        Leg("topic, durable subscription", len(kept.lines), away, compare(files, kept)),
    ]


def by_transaction(connection: Connection, files: list[TextFile], source: Queue, to: Queue) -> list[Leg]:
    """Lines moved from one queue to another in transactions, the first of which is rolled back once."""
    files = _some(files, 3000)
    total = _count(files)
    send_files(connection, source, files, Completions())
    session = connection.create_session(transacted=True)
    consumer, producer = session.create_consumer(source), session.create_producer(to)
    problems: list[str] = []
    moved, rolled_back = 0, False
    started = time.perf_counter()
    while moved < total:
        batch = [consumer.receive(timeout=PATIENCE) for _ in range(min(_BATCH, total - moved))]
        for message in batch:
            if message is None:
                return [Leg("transactions", moved, time.perf_counter() - started, ("a line did not arrive",))]
            producer.send(message)
        if not rolled_back:
            session.rollback()
            rolled_back = True
            continue
        if not moved and not all(message is not None and message.jms_redelivered for message in batch):
            problems.append("the message of the rolled back transaction was not redelivered")
        session.commit()
        moved += len(batch)
    seconds = time.perf_counter() - started
    session.close()
    collected = _drain(connection.create_session(), to, total)
    what = "transactions, one rolled back"
    return [Leg(what, len(collected.lines), seconds, (*problems, *compare(files, collected)))]


def _drain(session: Session, source: Queue, total: int) -> Collected:
    collected = Collected(total)
    consumer = session.create_consumer(source)
    while len(collected.lines) < total and (message := consumer.receive(timeout=PATIENCE)) is not None:
        collected(message)
    # Sends of the transaction that was rolled back must not arrive.
    while (message := consumer.receive_no_wait()) is not None:
        collected(message)
    session.close()
    return collected


def request_and_reply(connection: Connection, files: list[TextFile], queue: Queue) -> list[Leg]:
    """A service that replies with every line to the temporary queue named in the request."""
    files = _some(files, 500)
    collected = Collected(_count(files))
    serving = connection.create_session()
    service = serving.create_consumer(queue)
    replying = serving.create_producer(None)

    def serve(request: Message) -> None:
        assert isinstance(request, TextMessage)
        assert request.jms_reply_to is not None
        reply = serving.create_text_message(request.text)
        for name in request.property_names:
            if not name.startswith("JMSX"):
                reply.set_object_property(name, request.get_object_property(name))
        reply.jms_correlation_id = request.jms_message_id
        replying.send(request.jms_reply_to, reply)

    service.message_listener = serve
    asking = connection.create_session()
    answers = asking.create_temporary_queue()
    producer, consumer = asking.create_producer(queue), asking.create_consumer(answers)
    started = time.perf_counter()
    for file in files:
        for line in lines_of(file):
            request = message_for(asking, line)
            request.jms_reply_to = answers
            producer.send(request)
            reply = consumer.receive(timeout=PATIENCE)
            if reply is None or reply.jms_correlation_id != request.jms_message_id:
                return [Leg("request and reply", len(collected.lines), 0.0, ("a reply was missing or wrong",))]
            collected(reply)
    seconds = time.perf_counter() - started
    serving.close()
    consumer.close()
    answers.delete()
    asking.close()
    what = "request and reply"
    return [Leg(what, len(collected.lines), seconds, compare(files, collected))]


def _some(files: list[TextFile], most: int) -> list[TextFile]:
    """The first files with together at most ``most`` lines, at least one file."""
    chosen: list[TextFile] = []
    for file in files:
        if not chosen or _count([*chosen, file]) <= most:
            chosen.append(file)
    return chosen
