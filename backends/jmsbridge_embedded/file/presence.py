"""Process liveness and cross-process wake-up.

A folder beside the file holds, for each process, a lock file that is locked while the process lives, and a datagram
socket. POSIX locks end with the process, like SQLite's own, and children do not inherit them.
"""

import contextlib
import os
import random
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows
    HAS_LOCKS = False
else:
    HAS_LOCKS = hasattr(socket, "AF_UNIX")

__all__ = ["HAS_LOCKS", "Presence"]

_LONGEST: Final = 100  # bytes of a socket's path; the system's limit is 104 to 108
_MOST_LINES: Final = 500
_ALL: Final = b"*"
_PATIENCE: Final = 10.0  # seconds to get a lock that other processes hold only to test it
_PAUSE: Final = 0.02  # maximum seconds between two attempts
_LISTEN: Final = 30.0  # seconds after which the listener checks whether it was closed


class Presence:
    """This process, for one file. ``heard`` is called with the queues that another process names, None for all."""

    def __init__(self, path: Path, name: str, heard: Callable[[Sequence[int] | None], None]) -> None:
        self.token = uuid4().hex
        self.folder = path.with_name(f"{path.name}.d")
        self._heard = heard
        self._stopped = False
        self._lock = self._make_lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self.address = self._bind()
        except OSError:
            self._socket.close()
            os.close(self._lock)
            self._unlink(self.folder / f"{self.token}.lock")
            raise
        self._socket.settimeout(_LISTEN)
        self._unsent: dict[str, set[int] | None] = {}
        self._thread = threading.Thread(target=self._listen, name=f"jmsbridge-embedded-{name}-wake-io", daemon=True)
        self._thread.start()

    def _make_lock(self) -> int:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                lock = self._try_lock()
            except (FileNotFoundError, FileExistsError):
                # the last process to leave has removed the folder, perhaps after ``mkdir`` had found it
                if time.monotonic() > deadline:
                    raise
                lock = None
            if lock is not None:
                return lock
            if time.monotonic() > deadline:
                raise OSError(f"for {_PATIENCE:g} s other processes held each lock that was tried in {self.folder}")
            time.sleep(random.uniform(0.0, _PAUSE))  # sleep: others hold it only briefly

    def _try_lock(self) -> int | None:
        """Create the lock file and lock it; None if another process tests or removes it at this moment."""
        file = self.folder / f"{self.token}.lock"
        self.folder.mkdir(exist_ok=True)
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(BlockingIOError, PermissionError):
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if file.exists():
                return lock
        os.close(lock)
        return None

    def _bind(self) -> str:
        place = self.folder / f"{self.token}.sock"
        if len(os.fsencode(place)) <= _LONGEST and _is_text(str(place)):
            self._socket.bind(str(place))
            return str(place)
        # a new folder, which no other user can have prepared; other processes read its name from the file
        folder = Path(tempfile.mkdtemp(prefix="jmsbridge-"))
        try:
            self._socket.bind(str(folder / "wake"))
        except OSError:
            folder.rmdir()
            raise
        return str(folder / "wake")

    # -- waking --------------------------------------------------------------------------------------------------

    def wake(self, address: str, queues: set[int] | None) -> None:
        """Tell another process to look at these queues, or at all; if its socket is full, it is told later."""
        with contextlib.suppress(KeyError):
            before = self._unsent.pop(address)
            queues = None if before is None or queues is None else before | queues
        data = _ALL if queues is None or len(queues) > _MOST_LINES else struct.pack(f">{len(queues)}q", *queues)
        try:
            self._socket.sendto(data, socket.MSG_DONTWAIT, address)
        except BlockingIOError:
            self._unsent[address] = queues
        except OSError:
            return  # the process has ended or is about to: housekeeping notices

    def wake_again(self) -> None:
        """Repeat the messages for which a socket was full."""
        for address, queues in list(self._unsent.items()):
            self.wake(address, queues)

    def _listen(self) -> None:
        while not self._stopped:
            try:
                data = self._socket.recv(8192)
            except TimeoutError:
                continue  # check whether it was closed
            except OSError:
                return  # closed
            if self._stopped:
                return
            if len(data) % 8:  # ``_ALL``, or unknown data: look at all queues
                self._heard(None)
            else:
                self._heard(struct.unpack(f">{len(data) // 8}q", data))

    # -- liveness ------------------------------------------------------------------------------------------------

    def is_alive(self, token: str, *, tidy: bool = False) -> bool:
        """Whether another process lives, never called for this one; ``tidy`` removes the files of a dead one."""
        try:
            lock = os.open(self.folder / f"{token}.lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
        else:
            if tidy:  # while holding the lock: a process that starts now cannot take it, and makes a new file
                self.remove(token, str(self.folder / f"{token}.sock"))
        finally:
            os.close(lock)
        return False

    def remove(self, token: str, address: str) -> None:
        """Remove the files of a dead process."""
        socket = Path(address)
        self._unlink(socket)
        if socket.parent != self.folder:
            with contextlib.suppress(OSError):
                socket.parent.rmdir()
        self._unlink(self.folder / f"{token}.lock")

    def tidy(self, known: set[str]) -> None:
        """Remove the files of processes that died before they were registered."""
        for file in self.folder.glob("*.lock"):
            token = file.stem
            if token != self.token and token not in known:
                self.is_alive(token, tidy=True)

    def close(self) -> None:
        """Remove this process's files, and the folder if it was the last. Idempotent."""
        if self._stopped:
            return
        self._stopped = True
        with contextlib.suppress(OSError):  # wakes the listener, which otherwise ends at its next check
            self._socket.sendto(b"", socket.MSG_DONTWAIT, self.address)
        self._thread.join(1.0)
        self._socket.close()
        self._unlink(Path(self.address))
        self._unlink(self.folder / f"{self.token}.lock")
        os.close(self._lock)
        for folder in {Path(self.address).parent, self.folder}:
            with contextlib.suppress(OSError):  # other processes use it
                folder.rmdir()

    def abandon(self) -> None:
        """In a forked child: the socket belongs to the parent."""
        self._stopped = True
        self._socket.close()

    @staticmethod
    def _unlink(file: Path) -> None:
        file.unlink(missing_ok=True)


def _is_text(path: str) -> bool:
    """Whether the path can be stored in the file as text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
