"""Short forms of what the tests of sends in groups do."""

from typing import Any

from jmsbridge import InDoubtException, MessageProducer, Queue, Session
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import Completions, text_of

__all__ = ["QUEUE", "bodies", "first_held", "outcomes", "send"]

QUEUE = Queue("orders")


def bodies(backend: ScriptedBackend) -> list[Any]:
    """What the broker has, in order."""
    return [envelope.body for envelope in backend.accepted]


def send(producer: MessageProducer, listener: Completions, *texts: str) -> None:
    for text in texts:
        producer.send(text, completion_listener=listener)


def outcomes(listener: Completions, count: int) -> list[str]:
    """``a`` for a message that completed, ``a!`` for one that failed, ``a?`` for one that is in doubt."""
    marks = []
    for event in listener.wait(count):
        failed = "?" if event[0] == "failed" and isinstance(event[2], InDoubtException) else "!"
        marks.append(text_of(event[1]) + ("" if event[0] == "completed" else failed))
    assert len(marks) == count
    return marks


def first_held(backend: ScriptedBackend, session: Session, listener: Completions) -> MessageProducer:
    """Send "first", whose commit is held, so that later sends wait."""
    backend.hold("commit")
    producer = session.create_producer(QUEUE)
    send(producer, listener, "first")
    backend.script.wait_held("commit")
    return producer
