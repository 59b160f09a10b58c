"""The common part of the processes of a fault run."""

import contextlib
import faulthandler
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from jmsbridge import MessageConsumer, Queue, Session, Topic

__all__ = ["SETTINGS", "Settings", "ask_to_die", "consume", "destination", "play", "taken"]

SETTINGS = "JMSBRIDGE_FAULTS"
"""The environment variable with the settings of worker processes."""
_PATIENCE = 20.0  # seconds for a process to die that was asked to: it may be on its way to start


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


def ask_to_die(folder: Path, what: str) -> bool:
    """Have one ``worker`` or ``supervisor`` among the processes of a run killed; whether there was one."""
    asking = _asking(folder, what)
    asking.touch()
    deadline = time.monotonic() + _PATIENCE
    while asking.exists():
        if time.monotonic() > deadline:
            asking.unlink(missing_ok=True)
            return False
        time.sleep(0.01)  # sleep: a file that disappears gives no notification
    return True


def taken(settings: Settings, what: str) -> bool:
    """Whether this process is asked to die; only one of several is."""
    with contextlib.suppress(FileNotFoundError):
        _asking(Path(settings.ledger).parent, what).unlink()
        return True
    return False


def _asking(folder: Path, what: str) -> Path:
    return folder / f"kill-{what}"
