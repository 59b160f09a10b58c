"""One sending link: writes as credit allows, and answers with the broker's outcomes. For the I/O thread."""

import itertools
from collections import deque
from collections.abc import Callable, Collection, Hashable
from typing import Any

import proton

from jmsbridge.spi import BackendError, ChannelLost, SendCancelled, SendRefused
from jmsbridge.transport.network.link_life import ignored
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.connection.amqp_link import AmqpLink
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import FULL, Failure, attach_error, failure_of, send_error
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.connection.terminus import OUTCOMES, link_name, symbols
from jmsbridge_amqp.nodes.nodes import Nodes
from jmsbridge_amqp.sending.outgoing import Outgoing

__all__ = ["Sender", "cancelled"]


class Sender:
    """Sends to ``target``, or if that is None, to the address in each message. Attached with its first message.

    ``full`` is called after a message was refused because the broker has no room at its address.
    """

    def __init__(
        self,
        driver: Driver,
        begin: Callable[[], LinkGroup],
        target: str | None,
        capability: str | None,
        nodes: Nodes | None = None,
        full: "Callable[[Sender], None] | None" = None,
    ) -> None:
        self._driver = driver
        self._calls = driver.calls
        self._begin = begin
        self._target = target
        self._capability = capability
        self._nodes = nodes
        self._full = full
        self._waiting: deque[Outgoing] = deque()
        self._unanswered: dict[Hashable, Outgoing] = {}
        self._credit = 0
        self._seen = 0  # the input in which credit was last looked for before its outcomes
        self._link: AmqpLink | None = None
        self._numbers = itertools.count(1)
        self._limit = 0
        self._when_idle: list[Callable[[], None]] = []

    @property
    def is_idle(self) -> bool:
        """Whether every message was written and answered."""
        return not self._waiting and not self._unanswered

    def when_idle(self, task: Callable[[], None]) -> None:
        """Call this once every message was written and answered."""
        if self.is_idle:
            task()
        else:
            self._when_idle.append(task)

    def push(self, outgoing: Outgoing) -> None:
        """Write this message now, or when there is credit, after those before it."""
        if self._credit > 0 and not self._waiting:
            self._write(outgoing)
        else:
            self._waiting.append(outgoing)
            if self._link is None:
                self._attach()

    def _write(self, outgoing: Outgoing) -> None:
        assert self._link is not None
        data = outgoing.data
        if 0 < self._limit < len(data):
            outgoing.fail(self._too_large(outgoing))
            return
        driver, unit = self._driver, outgoing.unit
        outgoing.begins = driver.produced
        settled = outgoing.ticket is None and unit is None
        delivery = self._calls.send(
            self._link.handle, next(self._numbers), data, None if unit is None else unit.txn, settled=settled
        )  # fmt: skip
        self._credit -= 1
        driver.unflushed += len(data)
        if not settled:
            self._unanswered[delivery] = outgoing
            driver.expect()
            if unit is not None:
                outgoing.written()

    def _too_large(self, outgoing: Outgoing) -> BackendError:
        return SendRefused(
            f"{outgoing.address}: the message has {len(outgoing.data):,} bytes, {self._driver.life.broker} takes at "
            f"most {self._limit:,}; send smaller messages, or raise its limit"
        )

    # -- what the broker says

    def on_flow(self) -> None:
        """New credit, or the broker takes it back."""
        link = self._link
        if link is None or link.handle is None:
            return
        self._calls.return_credit(link.handle)
        self._credit = self._calls.credit(link.handle)
        waiting, driver = self._waiting, self._driver
        if not waiting or self._credit <= 0:
            return
        while waiting and self._credit > 0:
            self._write(waiting.popleft())
            driver.write_early()
        driver.flush()  # before more events: the broker gives new credit when the last of these has arrived

    def on_delivery(self, delivery: Any) -> None:
        """The outcome of one message."""
        if self._waiting and not self._credit and self._seen != self._driver.inputs:
            self._seen = self._driver.inputs
            self.on_flow()  # credit that came with the outcomes is used before they are handled
        outgoing = self._unanswered.get(delivery)
        if outgoing is None:
            return
        state = self._calls.outcome(delivery)
        if state == states.ACCEPTED or (state == states.RELEASED and outgoing.drops):
            del self._unanswered[delivery]
            self._calls.settle(delivery)
            outgoing.succeed()
        elif state in (0, states.RECEIVED):
            if not self._calls.is_settled(delivery):
                return
            del self._unanswered[delivery]
            self._calls.settle(delivery)
            text = f"{outgoing.address}: {self._driver.life.broker} settled the message without an outcome"
            outgoing.fail(BackendError(text, in_doubt=True))
        else:
            del self._unanswered[delivery]
            if self._nodes is not None:
                self._nodes.forget(outgoing.address)
            error = self._refusal(outgoing, delivery, state)
            self._calls.settle(delivery)
            outgoing.fail(error)
            if self._full is not None and isinstance(error.__cause__, Failure) and error.__cause__.name == FULL:
                self._full(self)
        self._driver.outcomes += 1
        self._driver.owed = len(self._unanswered)
        self._driver.in_transaction = outgoing.unit is not None
        if self._when_idle:
            self._look_idle()

    def _refusal(self, outgoing: Outgoing, delivery: Any, state: int) -> BackendError:
        where, broker = str(outgoing.address), self._driver.life.broker
        if state == states.REJECTED:
            condition = self._calls.public(delivery).remote.condition
            return send_error(failure_of(condition), where, broker)
        word = {states.RELEASED: "released", states.MODIFIED: "modified"}.get(state, f"state {state:#x}")
        return SendRefused(f"{where}: {broker} did not take the message ({word}); does the destination exist?")

    def _look_idle(self) -> None:
        if self.is_idle:
            tasks, self._when_idle = self._when_idle, []
            for task in tasks:
                task()

    # -- attaching

    def _attach(self) -> None:
        session = self._begin()
        made = session.proton.sender(link_name())
        made.source.address = made.name
        made.target.type = proton.Terminus.TARGET
        if self._target is not None:
            made.target.address = self._target
        if self._capability is not None:
            symbols(made.target.capabilities, self._capability)
        symbols(made.source.outcomes, *OUTCOMES)
        made.snd_settle_mode = proton.Link.SND_MIXED
        made.rcv_settle_mode = proton.Link.RCV_FIRST
        self._link = AmqpLink(session, made, self, self._ended)
        self._link.attach(self._attached)

    def _attached(self, failure: Failure | None) -> None:
        if self._link is None:
            return  # closed before it was attached
        if failure is None:
            self._limit = int(self._link.proton.remote_max_message_size or 0)
            self.on_flow()
            return
        what = f"sending to {self._target}" if self._target else "sending"
        self._give_up(attach_error(failure, what, self._driver.life.broker))

    def _ended(self, failure: Failure) -> None:
        """The broker closed the link; the next message attaches another."""
        where = self._target or "sending"
        self._give_up(send_error(failure, where, self._driver.life.broker, "ended the link for messages"))

    def _give_up(self, error: BackendError) -> None:
        """What was written is in doubt, what waits was not sent."""
        self._link, self._credit = None, 0
        unanswered, self._unanswered = self._unanswered, {}
        waiting, self._waiting = self._waiting, deque()
        doubt = ChannelLost(str(error), in_doubt=True)
        doubt.__cause__ = error
        for outgoing in unanswered.values():
            outgoing.fail(doubt)
        for outgoing in waiting:
            outgoing.fail(error)
        self._look_idle()

    # -- giving up

    def retire(self) -> list[Outgoing]:
        """Close the link once everything that was written is answered; returns what waits."""
        waiting, self._waiting = self._waiting, deque()
        self.when_idle(self.close)
        return list(waiting)

    def cancel(self, tickets: Collection[int]) -> None:
        """Drop the waiting messages whose tickets have these ``id``s."""
        for outgoing in [each for each in self._waiting if each.ticket is not None and id(each.ticket) in tickets]:
            self._waiting.remove(outgoing)
            outgoing.cancel(cancelled(outgoing, self._driver.life.broker))
        self._look_idle()

    def drop(self, unit: object) -> None:
        """Forget the waiting messages of a transaction that is rolled back."""
        dropped = [each for each in self._waiting if each.unit is unit]
        self._waiting = deque(each for each in self._waiting if each.unit is not unit)
        for outgoing in dropped:
            outgoing.written()
        self._look_idle()

    def end(self, early: BackendError, doubt: Callable[[int], BackendError]) -> None:
        """The channel or the link is lost: answer everything."""
        self._link, self._credit = None, 0
        unanswered, self._unanswered = self._unanswered, {}
        waiting, self._waiting = self._waiting, deque()
        for outgoing in unanswered.values():
            outgoing.fail(doubt(outgoing.begins))
        for outgoing in waiting:
            outgoing.fail(early)
        self._look_idle()

    def close(self) -> None:
        """Close the link of an idle sender; another message attaches another."""
        link, self._link, self._credit = self._link, None, 0
        if link is not None:
            link.detach(ignored, keep=False)


def cancelled(outgoing: Outgoing, broker: str) -> SendCancelled:
    """The answer to a message that was cancelled."""
    return SendCancelled(
        f"{outgoing.address}: the message was not sent; {broker} had not given credit for it, or had not taken "
        "earlier messages"
    )
