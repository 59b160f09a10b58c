"""A broker in a file on a failing disk: ``python -m tests.embedded.file.disk CASE FOLDER``, as a separate process.

The disk is real: a file system that only this process sees (``unshare``), or the kernel's limit on the size of a file.
Each case prints the errors of the broker, and raises if something is wrong.
"""

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from jmsbridge.spi import BackendError, ConnectFailed, Interest, Link, LinkLost, Mode, SendRefused
from tests.embedded.file.worker import FIRST, Answer, Heard, Inbox, connect, message, receive, send

__all__: list[str] = []

_LIMIT = 400_000


def full(folder: Path) -> None:
    """A full file system: sends are refused, confirmed messages stay, and sends succeed when there is room again."""
    _mount(folder, "size=4m")
    ballast, path, heard = folder / "ballast", folder / "orders.db", Heard()
    ballast.write_bytes(b"x" * (2 << 20))
    link = connect(path, heard)
    count, error = _fill(link)
    assert isinstance(error, SendRefused), error
    print(error)
    _cannot_connect(path, client_id="another")
    _cannot_connect(folder / "new.db")
    box = Inbox()
    link.channel(False).subscribe(Interest(address=FIRST, mode=Mode.BROWSE), box).grant(3)
    box.wait(3)  # browsing needs no room
    ballast.unlink()
    send(link.channel(False), message(f"{count} and on"))
    assert not heard.losses, "the link lives"
    link.close()
    connect(folder / "new.db").close()
    assert _numbers(path) == list(range(count + 1)), "confirmed messages are there"


def read_only(folder: Path) -> None:
    """A file system that is read-only."""
    _mount(folder, "size=4m")
    path = folder / "orders.db"
    link = connect(path)
    send(link.channel(False), message("0"))
    link.close()
    _mount(folder, "remount,ro")
    _cannot_connect(path)
    _cannot_connect(folder / "new.db")
    _mount(folder, "remount,rw")
    assert _numbers(path) == [0]


def no_right(folder: Path) -> None:
    """A folder or file that this user may not write."""
    path = folder / "orders.db"
    connect(path).close()
    assert os.listdir(folder) == [path.name]
    path.chmod(0o444)
    _cannot_connect(path)
    assert os.listdir(folder) == [path.name]
    path.chmod(0o644)
    folder.chmod(0o500)
    _cannot_connect(path)
    _cannot_connect(folder / "new.db")
    folder.chmod(0o700)
    connect(path).close()


def limited(folder: Path) -> None:
    """A file that may not grow: COMMIT fails, and its outcome is unknown."""
    path, heard = folder / "orders.db", Heard()
    link = connect(path, heard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LIMIT, resource.RLIM_INFINITY))
    count, error = _fill(link)
    assert isinstance(error, LinkLost), error
    assert error.in_doubt, "perhaps it was written"
    print(error)
    pause = threading.Event()
    while not heard.losses:
        pause.wait(0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert _numbers(path) in (list(range(count)), list(range(count + 1))), "confirmed messages are there"


def _mount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def _fill(link: Link) -> tuple[int, BackendError]:
    """Send until a send is refused; return how many were confirmed, and the error."""
    channel = link.channel(False)
    for number in range(100_000):
        answer = Answer()
        channel.send(message(f"{number} {'x' * 500}"), answer)
        if not answer.done.wait(30.0):
            raise TimeoutError("no answer")
        if answer.error is not None:
            return number, answer.error
    raise RuntimeError("the disk was never full")


def _cannot_connect(path: Path, **options: str) -> None:
    try:
        connect(path, **options)  # type: ignore[arg-type]
    except ConnectFailed as error:
        print(error)
    else:
        raise RuntimeError(f"{path} could be opened")


def _numbers(path: Path) -> list[int]:
    link = connect(path)
    found = [int(arrival.envelope.body.split()[0]) for arrival in receive(link)]
    link.close()
    return found


_CASES: dict[str, Callable[[Path], None]] = {
    "full": full,
    "read_only": read_only,
    "no_right": no_right,
    "limited": limited,
}

if __name__ == "__main__":
    _CASES[sys.argv[1]](Path(sys.argv[2]))
