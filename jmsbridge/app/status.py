"""How an application is doing: what its health answer and its progress line show."""

from typing import Literal

import msgspec

__all__ = ["ListenerStatus", "Status"]


class ListenerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One listener. ``depth`` is the number of messages at its destination, None where the broker does not say.

    ``dead_lettered`` are those that this process has moved to a dead-letter queue.
    ``stuck`` are the seconds since the begin of each call that is over the listener's deadline.
    """

    name: str
    destination: str
    consumers: int
    running: int
    handled: int
    failed: int
    dead_lettered: int
    stuck: list[float] = []
    depth: int | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """An application. ``loop_blocked`` are the seconds for which a listener has blocked the event loop, if it has."""

    state: Literal["connecting", "connected", "reconnecting", "failed", "closed"]
    listeners: list[ListenerStatus] = []
    loop_blocked: float = 0.0

    @property
    def is_stuck(self) -> bool:
        """Whether a call is over its deadline, or the event loop is blocked."""
        return self.loop_blocked > 0 or any(each.stuck for each in self.listeners)

    @property
    def is_ready(self) -> bool:
        """Whether messages can be handled now."""
        return self.state == "connected" and not self.is_stuck
