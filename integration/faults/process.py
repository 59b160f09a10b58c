"""The common part of the processes of a fault run."""

import faulthandler
import signal
import sys
from collections.abc import Callable

import msgspec

from jmsbridge import MessageConsumer, Queue, Session, Topic

__all__ = ["Settings", "consume", "destination", "play"]


class Settings(msgspec.Struct, frozen=True):
    """The settings of a process of the run."""

    name: str
    role: str
    url: str
    place: str
    topic: bool
    ledger: str
    count: int = 0


def destination(settings: Settings) -> Queue | Topic:
    """The destination of the producers."""
    return Topic(settings.place) if settings.topic else Queue(settings.place)


def consume(session: Session, place: str, topic: bool) -> MessageConsumer:
    """A consumer of the queue, or of the durable subscription to the topic that all consumers share."""
    if topic:
        return session.create_shared_durable_consumer(Topic(place), place)
    return session.create_consumer(Queue(place))


def play(main: Callable[[Settings], None]) -> None:
    """Run a process of the run; on SIGUSR1 it prints the stacks of its threads."""
    faulthandler.register(signal.SIGUSR1)
    main(msgspec.json.decode(sys.argv[1], type=Settings))
