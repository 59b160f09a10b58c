"""What a broker knows about one connection."""

import sys
from typing import Final

from jmsbridge_embedded.rules import check_alive

__all__ = ["UNLIMITED", "Client"]

UNLIMITED: Final = sys.maxsize


class Client:
    """One link as its broker sees it: its client id, its limits, and whether it is alive.

    ``lost`` is the reason why the link is dead, None while it lives. ``number`` identifies the link in a file; in
    memory the object itself does.
    """

    __slots__ = ("client_id", "duplicate_window", "lost", "max_messages", "number")

    def __init__(self, client_id: str | None, max_messages: int, duplicate_window: int) -> None:
        self.client_id = client_id
        self.max_messages = max_messages
        self.duplicate_window = duplicate_window
        self.lost: str | None = None
        self.number = 0

    def check(self) -> None:
        """Raise ``LinkLost`` if the link is dead."""
        check_alive(self.lost)
