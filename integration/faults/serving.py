"""The application of the role ``processes``, served by ``jmsbridge run``."""

import os
import signal
import threading
import time

import msgspec

from integration.faults.consuming import HELD_BY_PROCESSES, Book, container
from integration.faults.process import SETTINGS, Settings, taken

__all__ = ["app"]

_TICK = 0.01

_settings = msgspec.json.decode(os.environ[SETTINGS], type=Settings)
_book = Book(_settings, HELD_BY_PROCESSES)
app = container(_settings, _book)


def _die_when_asked() -> None:
    while not taken(_settings, "worker"):
        time.sleep(_TICK)  # sleep: a file that appears gives no notification
    os.kill(os.getpid(), signal.SIGKILL)


_book.connected()
threading.Thread(target=_die_when_asked, name="faults-die", daemon=True).start()
