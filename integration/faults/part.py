"""The part that one process plays in a fault run."""

import faulthandler
import signal
import sys
from collections.abc import Callable

import msgspec

__all__ = ["Settings", "play"]


class Settings(msgspec.Struct, frozen=True):
    """What a process of the run is to do."""

    name: str
    role: str
    url: str
    queue: str
    ledger: str
    count: int = 0


def play(main: Callable[[Settings], None]) -> None:
    """Run a process of the run; on SIGUSR1 it tells what each of its threads is doing."""
    faulthandler.register(signal.SIGUSR1)
    main(msgspec.json.decode(sys.argv[1], type=Settings))
