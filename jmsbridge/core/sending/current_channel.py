"""The channel over which a session sends now: None while its link is down, when senders wait for the next one."""

import copy
from collections.abc import Callable

from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.errors import JMSException
from jmsbridge.spi import Channel, LinkLost

__all__ = ["CurrentChannel"]


class CurrentChannel:
    """Set when a link is there, waited for by senders for at most ``timeout`` seconds. Thread-safe."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.changed = WaitSet()
        """Those who wait for a channel."""
        self._lock = ranked(Rank.LEAF)  # held to look at ``now`` and then change it
        self.now: Channel | None = None
        self.down: JMSException | None = None
        """Why there will be none any more, if so."""

    def attach(self, channel: Channel) -> None:
        """Send over this channel from now on."""
        with self._lock:
            self.now = channel
        self.changed.notify()

    def suspend(self) -> None:
        """The link is lost: sends wait from now on. Takes no lock, since a backend may call it while it holds one."""
        self.now = None

    def leave(self, channel: Channel) -> None:
        """This channel is lost: sends wait, unless another one is already in use."""
        with self._lock:
            if self.now is channel:
                self.now = None

    def shut(self, error: JMSException) -> None:
        """The connection is lost for good; senders fail with ``error``."""
        self.down = error
        self.now = None
        self.changed.notify()

    def abandon(self, error: JMSException) -> None:
        """In a forked child: locks may be held by threads that do not exist here."""
        self.changed = WaitSet()
        self._lock = ranked(Rank.LEAF)
        self.now, self.down = None, error

    def wait_open(self) -> Channel:
        """The channel; waits for a reconnect."""
        channel = self.now
        if channel is not None:
            return channel
        self._wait_for(lambda: self.now is not None, self._timeout)
        channel = self.now
        if channel is not None:
            return channel
        refusal = self.refusal()
        raise refusal from refusal.__cause__

    def check_up(self) -> None:
        """Raise the error because of which there will be no channel any more, if there is one."""
        if self.down is not None:
            refusal = self.refusal()
            raise refusal from refusal.__cause__

    def refusal(self) -> JMSException:
        """The error of a sender that has waited so long, or need not wait, since there will be no channel any more."""
        down = self.down
        if down is None:
            return JMSException(self._not_restored())
        refusal = copy.copy(down)  # a copy, because raising adds a traceback
        refusal.__cause__ = down.__cause__
        return refusal

    def wait_replaced(self, channel: Channel, why: LinkLost) -> None:
        """Wait until this channel, which is lost, is replaced, or the connection is; JMSException after the timeout."""
        if not self._wait_for(lambda: self.now not in (None, channel), self._timeout):
            raise JMSException(f"{why}, and {self._not_restored()}") from why

    def _not_restored(self) -> str:
        return f"the connection was not restored within {self._timeout:g} s (option send_timeout)"

    def wait_left(self, channel: Channel, timeout: float) -> bool:
        """Wait until this channel is known to be lost; False after ``timeout`` seconds."""
        return self._wait_for(lambda: self.now is not channel, timeout)

    def wait_next(self, channel: Channel, timeout: float) -> bool:
        """Wait until another channel is there; False after ``timeout`` seconds, or if there will be none."""
        self._wait_for(lambda: self.now not in (None, channel), timeout)
        return self.now not in (None, channel)

    def _wait_for(self, is_so: Callable[[], bool], timeout: float) -> bool:
        return self.changed.wait_for(lambda: is_so() or self.down is not None, timeout)
