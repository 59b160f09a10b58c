"""One AMQP session: its begin and end, and its links. For the I/O thread.

Sends and the transaction of a channel have one session, and each subscription has its own, for two reasons: some
brokers refuse a link by ending its session, and ActiveMQ Classic marks returned messages as redelivered only when
their session ends.
"""

import time
from collections.abc import Callable
from typing import Any

from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import FULL, Failure, failure_of

__all__ = ["GroupMember", "LinkGroup"]

_NUDGE = 0.02  # seconds until a broker that has not answered the end of a session is nudged; doubles each time


class LinkGroup:
    """``ended`` is called when the broker ends the session, after its links were told.

    If the connection already has as many sessions as the broker allows, this one ends at once in the same way, and
    ``is_refused``.
    """

    def __init__(self, driver: Driver, ended: Callable[[Failure], None]) -> None:
        self.driver = driver
        self.is_open = True
        self.is_refused = len(driver.sessions) >= driver.most_sessions
        self._begun = False
        self._ended = ended
        self._when_ended: list[Callable[[], None]] = []
        self._links: list[GroupMember] = []
        self._gone: list[Any] = []
        self.proton: Any = driver.connection.session()
        self._key = driver.calls.handle(self.proton)
        driver.controls[self._key] = self._on_control
        driver.sessions.add(self)
        rest = driver.may_begin - time.monotonic()
        self._resting: list[Any] | None = None
        """Links that are attached once the session is begun."""
        if self.is_refused:
            self._resting = []
            driver.life.thread.post(self._refuse)
        elif rest > 0:
            self._resting = []
            driver.life.thread.call_later(rest, self._begin)
        else:
            self.proton.open()

    def _begin(self) -> None:
        resting, self._resting = self._resting or [], None
        if self.proton is None:
            return

        def begin() -> None:
            self.proton.open()
            for made in resting if self.is_open else ():
                self.attach(made)

        self.driver.batch(begin)

    def _refuse(self) -> None:
        if self.proton is None:
            return
        text = (
            f"the broker allows {self.driver.most_sessions} sessions of AMQP on a connection, and this one has them: "
            "each session that sends and each consumer needs one; close some, or use another connection"
        )
        self.driver.batch(lambda: self._over(Failure(FULL, text)))

    def attach(self, made: Any) -> None:
        """Attach proton's link, now or as soon as the session is begun."""
        if self._resting is None:
            self.driver.expect()
            made.open()
        else:
            self._resting.append(made)

    def add(self, link: "GroupMember") -> None:
        """Tell this link when the session ends."""
        self._links.append(link)

    def remove(self, link: "GroupMember", made: Any, *, is_closed: bool) -> None:
        """A link ends: free it at once if it is a closed sender, any other together with the session.

        Freeing a receiver would settle its deliveries without an outcome.
        """
        self._links.remove(link)
        if is_closed and made.is_sender:
            made.free()
        else:
            self._gone.append(made)

    def end(self, done: Callable[[], None]) -> None:
        """End the session with its links; ``done`` is called after the broker's answer.

        The end is sent only after the broker's begin: proton takes a begin that arrives later for a mistake of the
        broker, and closes the connection.
        """
        if self.proton is None:
            done()
            return
        self._when_ended.append(done)
        if self.is_open:
            self.is_open = False
            for link in list(self._links):
                link.forget()
            self.driver.expect()
            if self._begun:
                self._write_end()

    def _write_end(self) -> None:
        self.proton.close()
        self._nudge_after(_NUDGE)

    def _nudge_after(self, seconds: float) -> None:
        """Artemis may write its answer only when it gets more, or 2 seconds later, if two sessions end together."""

        def nudge() -> None:
            if self.proton is not None:
                self.driver.nudge()
                self._nudge_after(2 * seconds)

        self.driver.life.thread.call_later(seconds, nudge)

    def detach_and_end(self, done: Callable[[], None]) -> None:
        """``end``, after its links were detached one by one.

        Artemis writes its answer to the end of a session that has links only when it next looks at all connections,
        which is every 2 seconds.
        """
        links = [link for link in self._links if self.is_open]
        if links:
            links[-1].detach(lambda: self.detach_and_end(done), keep=False)
        else:
            self.end(done)

    def _on_control(self, kind: str) -> None:
        if kind == "SESSION_REMOTE_OPEN":
            self._begun = True
            if not self.is_open:
                self._write_end()
        elif kind == "SESSION_REMOTE_CLOSE":
            self._closed()

    def _closed(self) -> None:
        failure = failure_of(self.proton.remote_condition)
        if self.is_open:
            self.proton.close()
        self.driver.may_begin = time.monotonic() + self.driver.rest
        self._over(failure)

    def _over(self, failure: Failure) -> None:
        session, was_open, self.is_open = self.proton, self.is_open, False
        for link in list(self._links):
            link.session_ended(failure)
        self.driver.controls.pop(self._key, None)
        self.driver.sessions.discard(self)
        gone, self._gone = self._gone, []
        for made in gone:
            made.free()
        session.free()
        self._tell_ended()
        if was_open:
            self._ended(failure)

    def drop(self) -> None:
        """The connection is gone: forget proton's objects, and tell those that wait for the end."""
        self.is_open = False
        for link in list(self._links):
            link.forget()
        self._gone.clear()
        self._tell_ended()

    def _tell_ended(self) -> None:
        self.proton = None
        waiting, self._when_ended = self._when_ended, []
        for task in waiting:
            task()


class GroupMember:
    """What a session tells its links."""

    def detach(self, done: Callable[[], None], *, keep: bool) -> None:
        """Close the link, or with ``keep`` detach it, which leaves a durable subscription at the broker."""
        raise NotImplementedError

    def forget(self) -> None:
        """The client ends the session."""
        raise NotImplementedError

    def session_ended(self, failure: Failure) -> None:
        """The broker ended the session."""
        raise NotImplementedError
