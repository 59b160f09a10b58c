"""One receiving link: its deliveries by number, credit, drain and dispositions. For the I/O thread."""

import itertools
from collections.abc import Callable, Hashable
from typing import Any

import proton

from jmsbridge.spi import Interest, Mode
from jmsbridge.transport.network.link_life import ignored
from jmsbridge_amqp.connection.amqp_link import AmqpLink
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.connection.terminus import (
    OUTCOMES,
    capability,
    has_selector,
    link_name,
    offered_by,
    put_filters,
    symbols,
)

__all__ = ["Receiver", "Source"]


class Source:
    """What a receiver consumes, in the terms of AMQP."""

    def __init__(self, interest: Interest, address: str, name: str | None, selector: str | None) -> None:
        self.address = address
        self.name = name
        """The link's name, which is that of a durable or shared subscription; None for any other."""
        self.selector = selector
        self.topic = interest.address.topic
        self.durable = interest.durable
        self.shared = interest.shared
        self.is_global = False
        self.browses = interest.mode is Mode.BROWSE
        self.no_local = interest.no_local and self.topic
        self.capability = capability(interest.address)

    def make(self, session: LinkGroup) -> Any:
        """Make proton's link for it, not yet attached."""
        made = session.proton.receiver(self.name or link_name())
        source = made.source
        source.address = self.address
        source.durability = proton.Terminus.DELIVERIES if self.durable else proton.Terminus.NONDURABLE
        source.expiry_policy = proton.Terminus.EXPIRE_NEVER if self.durable else proton.Terminus.EXPIRE_WITH_LINK
        if self.browses or (self.durable and not self.shared):
            source.distribution_mode = proton.Terminus.DIST_MODE_COPY
        names = [self.capability]
        if self.shared:
            names += ["shared", "global"] if self.is_global else ["shared"]
        symbols(source.capabilities, *names)
        symbols(source.outcomes, *OUTCOMES)
        put_filters(source, self.selector, no_local=self.no_local)
        made.target.address = made.name
        made.snd_settle_mode = proton.Link.SND_SETTLED if self.browses else proton.Link.SND_UNSETTLED
        made.rcv_settle_mode = proton.Link.RCV_FIRST
        return made


class Receiver:
    """``arrived`` gets the number and the bytes of each message, ``ended`` why the broker closed it.

    It has a session of its own, which ends with it. When a drain has ended because its messages used up the credit,
    Artemis answers it a moment later all the same, and takes back the credit of a drain that was sent in between. So
    after such a drain, up to ``checks`` answers may belong to it; each is checked by draining again.
    """

    def __init__(
        self,
        driver: Driver,
        source: Source,
        arrived: Callable[[int, bytes], None],
        ended: Callable[[Failure], None],
        checks: int,
    ) -> None:
        self.unsettled: dict[int, Hashable] = {}
        """Deliveries by number: those that have no outcome yet."""
        self.is_open = False
        self._driver = driver
        self._calls = driver.calls
        self._arrived = arrived
        self._ended = ended
        self._source = source
        self._session = LinkGroup(driver, self._session_ended)
        self._link = AmqpLink(self._session, source.make(self._session), self, self._link_ended)
        self._numbers = itertools.count(1)
        self._drained: Callable[[], None] | None = None
        self._drained_credit = 0
        self._checks = checks
        self._left_to_check = 0

    def attach(self, attached: Callable[[Failure | None], None]) -> None:
        """Attach the link; if it is refused, its session ends."""

        def answered(failure: Failure | None) -> None:
            failure = failure or self._difference()
            if failure is None:
                self.is_open = True
                attached(None)
            else:
                self._session.end(lambda: attached(failure))

        self._link.attach(answered)

    def _difference(self) -> Failure | None:
        """What the broker made of the link, if that is not what was asked for."""
        asked, made = self._source, self._link.proton.remote_source
        if asked.selector is not None and not has_selector(made):
            return Failure("amqp:not-implemented", "the broker did not put the selector in force")
        if asked.browses and made.distribution_mode != proton.Terminus.DIST_MODE_COPY:
            return Failure("amqp:not-implemented", "the broker would consume the messages instead of browsing them")
        if asked.topic and "queue" in offered_by(made):
            text = "the broker has a queue of this name; the option topic_prefix says how it names topics"
            return Failure("amqp:illegal-state", text)
        return None

    # -- arrivals

    def on_delivery(self, delivery: Any) -> None:
        """A message arrived, perhaps only a part of it."""
        if not self.is_open:
            return  # it was on its way when the link was closed; the end of the session returns it
        link = self._link.handle
        data = self._calls.read(link, delivery)
        if data is None:
            if self._calls.drop_aborted(delivery) and not self._count_for_drain():
                self.grant(1)
            return
        number = next(self._numbers)
        if self._calls.is_settled(delivery):
            self._calls.settle(delivery)
        else:
            self.unsettled[number] = delivery
        self._arrived(number, data)
        self._count_for_drain()

    def _count_for_drain(self) -> bool:
        """Count a delivery for the drain under way, which may be its last; false if there is none."""
        if self._drained is None:
            return False
        self._drained_credit -= 1
        if self._drained_credit <= 0:
            self._left_to_check = self._checks
            self._end_drain()
        return True

    def on_flow(self) -> None:
        """The broker has changed the credit, perhaps in answer to a drain."""
        if self._drained is None or self.credit > 0:
            return
        if self._left_to_check:
            self._left_to_check -= 1
            self._calls.drain(self._link.handle, self._drained_credit)
        else:
            self._end_drain()

    # -- credit

    @property
    def credit(self) -> int:
        """How many messages may still arrive."""
        handle = self._link.handle
        return 0 if handle is None else self._calls.credit(handle)

    def grant(self, count: int) -> None:
        """Allow that many more."""
        if self._link.handle is not None:
            self._calls.grant(self._link.handle, count)

    def drain(self, drained: Callable[[], None]) -> None:
        """Take the credit back; ``drained`` is called after the last arrival. Only one drain at a time."""
        self._drained, self._drained_credit = drained, self.credit
        if self._drained_credit > 0:
            self._driver.expect()
            self._calls.drain(self._link.handle, 0)
        else:
            self._end_drain()

    def ask_again(self) -> None:
        """Repeat the drain."""
        if self._drained is not None and self.credit > 0:
            self._calls.drain(self._link.handle, 0)

    def _end_drain(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None:
            drained()

    # -- outcomes

    def dispose(self, number: int, state: int, *, failed: bool = True) -> bool:
        """Settle a message with this outcome; false if it already has one."""
        delivery = self.unsettled.pop(number, None)
        if delivery is None:
            return False
        self._calls.dispose(delivery, state, failed=failed)
        return True

    def accept_in(self, number: int, txn: bytes) -> None:
        """Accept a message in a transaction."""
        delivery = self.unsettled.pop(number, None)
        if delivery is not None:
            self._calls.accept_in(delivery, txn)

    # -- the end

    def close(self, done: Callable[[], None], *, keep: bool, mark: bool) -> None:
        """Close the link, which returns its unsettled messages, and end its session.

        With ``keep`` the subscription stays at the broker. With ``mark`` only the session is ended, with which some
        brokers mark the messages as redelivered.
        """
        self._stop()
        if mark or self._link.handle is None:
            self._session.end(done)
        else:
            self._link.detach(lambda: self._session.end(done), keep=keep)

    def _link_ended(self, failure: Failure) -> None:
        self._gone(failure)
        self._session.end(ignored)

    def _session_ended(self, failure: Failure) -> None:
        """Nothing to do: the session has told the link."""

    def _gone(self, failure: Failure) -> None:
        self._stop()
        self._ended(failure)

    def forget(self) -> None:
        """The link to the broker is lost."""
        self._stop()

    def _stop(self) -> None:
        self.is_open = False
        self.unsettled.clear()
        self._drained = None
