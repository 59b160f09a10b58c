"""One AMQP link from attach to detach. For the I/O thread."""

from collections.abc import Callable, Hashable
from typing import Any

import proton

from jmsbridge_amqp.connection.errors import Failure, failure_of
from jmsbridge_amqp.connection.link_group import GroupMember, LinkGroup
from jmsbridge_amqp.connection.proton_calls import Listener

__all__ = ["AmqpLink", "Attached"]

Attached = Callable[[Failure | None], None]


class AmqpLink(GroupMember):
    """``listener`` gets its deliveries; ``ended`` is called when the broker ends the attached link.

    ``handle`` is what ``Calls`` takes; None once the link is closed, so that nothing touches proton's memory then.
    """

    def __init__(self, session: LinkGroup, made: Any, listener: Listener, ended: Callable[[Failure], None]) -> None:
        self.session = session
        self.driver = session.driver
        self.proton: Any = made
        self.handle: Hashable | None = self.driver.calls.handle(made)
        self._listener = listener
        self._ended = ended
        self._attached: Attached | None = None
        self._is_attached = False  # the broker has answered the attach
        self._refused = False
        self._detached: list[Callable[[], None]] = []
        self._closing = False
        self._keeps = False
        self._has_written_detach = False

    def attach(self, attached: Attached) -> None:
        """Attach the link; ``attached`` gets the broker's refusal, or None."""
        assert self.handle is not None
        self._attached = attached
        self.session.add(self)
        self.driver.links[self.handle] = self._listener
        self.driver.controls[self.handle] = self._on_control
        self.session.attach(self.proton)

    def detach(self, done: Callable[[], None], *, keep: bool) -> None:
        """Close the link, or with ``keep`` detach it, which leaves a durable subscription at the broker.

        The detach is written after the broker's attach: Artemis may never answer one that comes together with ours.
        """
        if self.handle is None:
            done()
            return
        self._detached.append(done)
        if self._closing:
            return
        self._closing, self._keeps = True, keep
        self.driver.expect()
        if self._is_attached:
            self._write_detach()

    def _write_detach(self) -> None:
        if self._has_written_detach:
            return
        self._has_written_detach = True
        if self._keeps:
            self.proton.detach()
        else:
            self.proton.close()

    # -- what the broker says

    def _on_control(self, kind: str) -> None:
        if kind == "LINK_REMOTE_OPEN":
            self._opened()
        elif kind in ("LINK_REMOTE_CLOSE", "LINK_REMOTE_DETACH"):
            self._closed(kind == "LINK_REMOTE_DETACH")

    def _opened(self) -> None:
        link = self.proton
        there = link.remote_source if link.is_receiver else link.remote_target
        if there.type == proton.Terminus.UNSPECIFIED:
            self._refused = True  # the reason comes with the detach that must follow
            return
        self._is_attached = True
        if self._closing:
            self._write_detach()
        self._answer(None)

    def _closed(self, detached: bool) -> None:
        failure = failure_of(self.proton.remote_condition)
        self._keeps = self._keeps if self._closing else detached and not self._refused
        self._write_detach()  # else the broker would not answer the next attach of this name
        self._leave(is_closed=True)
        self._tell(failure)

    def _tell(self, failure: Failure) -> None:
        """Answer those that wait for the link; if there are none, the broker has ended it."""
        is_expected = self._attached is not None or self._closing
        self._answer(failure)
        waiting, self._detached = self._detached, []
        for task in waiting:
            task()
        if not is_expected:
            self._ended(failure)

    def _answer(self, failure: Failure | None) -> None:
        attached, self._attached = self._attached, None
        if attached is not None:
            attached(failure)

    def forget(self) -> None:
        """Drop proton's link, because its session ends."""
        self._leave(is_closed=False)

    def _leave(self, *, is_closed: bool) -> None:
        if self.handle is None:
            return
        self.driver.links.pop(self.handle, None)
        self.driver.controls.pop(self.handle, None)
        self.handle = None
        made, self.proton = self.proton, None
        self.session.remove(self, made, is_closed=is_closed)

    def session_ended(self, failure: Failure) -> None:
        """The broker ended the session; some brokers refuse a link in this way."""
        self.forget()
        self._tell(failure)
