"""A broker's view of one connection."""

import sys
from typing import Final

from jmsbridge.spi import LinkLost

__all__ = ["UNLIMITED", "Client"]

UNLIMITED: Final = sys.maxsize


class Client:
    """What a broker knows of a link: whose it is, its limits, and whether it is alive.

    ``lost`` says why the link is dead. ``number`` is its number in the file; in memory the object itself identifies it.
    """

    __slots__ = ("client_id", "duplicate_window", "lost", "max_messages", "number")

    def __init__(self, client_id: str | None, max_messages: int, duplicate_window: int) -> None:
        self.client_id = client_id
        self.max_messages = max_messages
        self.duplicate_window = duplicate_window
        self.lost: str | None = None
        self.number = 0

    def check(self) -> None:
        """Raise when the link is dead."""
        if self.lost is not None:
            raise LinkLost(self.lost)
