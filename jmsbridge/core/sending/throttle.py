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
        self.changed = WaitSet()
        """Those who wait for the end of the pause."""

    def set(self, active: bool, why: str) -> None:
        """The broker asks to pause or to continue; ``why`` is logged."""
        changed, self.is_active = active != self.is_active, active
        self.changed.notify()
        if changed:
            log.warning("senders %s: %s", "pause" if active else "continue", why)

    def wait_open(self, timeout: float) -> None:
        """Wait until senders may send; ResourceAllocation after ``timeout`` seconds."""
        if self.changed.wait_for(lambda: not self.is_active, timeout):
            return
        raise self.refusal(timeout)

    def refusal(self, timeout: float) -> ResourceAllocationException:
        """The error of a sender that has waited so long."""
        return ResourceAllocationException(
            f"the message was not sent: for {timeout:g} s (option send_timeout) the broker has asked senders to pause, "
            "because an alarm of its memory or disk is on; consume messages, or give the broker more room"
        )
