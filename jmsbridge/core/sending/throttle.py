"""Blocks senders while the broker asks them to pause."""

import logging

from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.errors import ResourceAllocationException

__all__ = ["Throttle"]

log = logging.getLogger("jmsbridge.throttle")


class Throttle:
    """Set by events of the link, on any thread; every send of the connection checks it."""

    def __init__(self) -> None:
        self.is_active = False
        """Whether senders must wait."""
        self._changed = WaitSet()

    def set(self, active: bool, why: str) -> None:
        """The broker asks to pause or to continue; ``why`` is logged."""
        changed, self.is_active = active != self.is_active, active
        self._changed.notify()
        if changed:
            log.warning("senders %s: %s", "pause" if active else "continue", why)

    def wait_open(self, timeout: float) -> None:
        """Wait until senders may send; ResourceAllocation after ``timeout`` seconds."""
        if self._changed.wait_for(lambda: not self.is_active, timeout):
            return
        raise ResourceAllocationException(
            f"the message was not sent: for {timeout:g} s (option send_timeout) the broker has asked senders to pause, "
            "because an alarm of its memory or disk is on; consume messages, or give the broker more room"
        )
