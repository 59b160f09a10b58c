"""Run the demo over a folder, by default the working directory, on ``$JMSBRIDGE_URL`` or the embedded broker."""

import contextlib
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

import jmsbridge
from jmsbridge import Connection, Queue, Topic
from jmsbridge.config import resolve
from jmsbridge.demo import routes
from jmsbridge.demo.files import find_files
from jmsbridge.demo.report import Leg, show
from jmsbridge.spi import BackendError

MOST_LINES = 20_000


def main(arguments: list[str]) -> int:
    """Send, receive, compare and report; returns 0 if everything was identical."""
    folder = Path(arguments[0] if arguments else ".")
    console = Console(highlight=False)
    try:
        files = find_files(folder, MOST_LINES)
        if not files:
            console.print(f"no text files in {folder}", markup=False)
            return 1
        target = ", ".join(map(str, resolve().endpoints))
        console.print(f"{len(files)} text files of {folder.resolve().name} through {target}", markup=False)
        run = uuid.uuid4().hex[:8]
        lines, source, to, service = queues = [Queue(f"demo.{use}.{run}") for use in ("lines", "from", "to", "service")]
        with jmsbridge.connect(client_id=f"demo-{run}") as connection, _removed(connection, queues):
            connection.start()
            legs: list[Leg] = []
            legs += routes.by_queue(connection, files, lines)
            legs += routes.by_topic(connection, files, Topic(f"demo.news.{run}"), f"keeper-{run}")
            legs += routes.by_transaction(connection, files, source, to)
            legs += routes.request_and_reply(connection, files, service)
        return show(legs, target, console)
    except (jmsbridge.JMSError, OSError) as error:
        console.print(f"the demo failed: {error}", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130


@contextlib.contextmanager
def _removed(connection: Connection, queues: list[Queue]) -> Iterator[None]:
    """Remove the queues at the end, if the backend can."""
    try:
        yield
    finally:
        for queue in queues:
            with contextlib.suppress(jmsbridge.JMSError, BackendError):
                connection.admin.remove(queue.address)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
