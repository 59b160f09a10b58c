"""Requests to an address of the broker that answers messages, over a session of their own. For the I/O thread."""

from typing import Any

import proton

from jmsbridge.spi import Address, BackendError, BodyKind, Envelope, Ticket
from jmsbridge.transport.artemis.operations import SUCCEEDED, Reply, Request
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.link_life import Done, ignored
from jmsbridge.transport.tickets import CallbackTicket
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.connection.amqp_link import AmqpLink
from jmsbridge_amqp.connection.errors import Failure, attach_error, send_error
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.connection.terminus import OUTCOMES, link_name, symbols
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.messages.sections import VALUE, Splitter
from jmsbridge_amqp.protocol.errors import Malformed
from jmsbridge_amqp.sending.outgoing import Outgoing
from jmsbridge_amqp.sending.sender import Sender

__all__ = ["Requests"]


class Requests:
    """Sends several requests at once and collects the replies, which come in the same order.

    The replies go to a queue that the broker makes for their link, and deletes with it. ``done`` gets the replies, or
    the error; an error after ``patience`` seconds. The broker drops a request that it has not read by then.
    """

    def __init__(self, facts: LinkFacts, to: Address, requests: list[Request], patience: float, done: Done) -> None:
        self._facts = facts
        self._driver = driver = facts.driver
        self._to = to
        self._requests = requests
        self._patience = patience
        self._done: Done | None = done
        self._replies: list[Reply] = []
        self._session = LinkGroup(driver, self._ended)
        made = self._session.proton.receiver(link_name())
        made.source.dynamic = True
        made.source.durability = proton.Terminus.NONDURABLE
        made.source.expiry_policy = proton.Terminus.EXPIRE_WITH_LINK
        symbols(made.source.capabilities, "temporary-queue")
        symbols(made.source.outcomes, *OUTCOMES)
        made.target.address = made.name
        made.snd_settle_mode = proton.Link.SND_UNSETTLED
        made.rcv_settle_mode = proton.Link.RCV_FIRST
        self._link = AmqpLink(self._session, made, self, self._ended)
        late = BackendError(f"{to}: no answer from {driver.life.broker} within {patience:g} s", in_doubt=True)
        self._timer = driver.life.thread.call_later(patience, lambda: self._finish(None, late))
        self._link.attach(self._attached)

    def _attached(self, failure: Failure | None) -> None:
        if failure is not None:
            self._finish(None, attach_error(failure, "creating a queue for replies", self._driver.life.broker))
            return
        driver, encoder = self._driver, self._facts.encoder
        reply_to = Address(str(self._link.proton.remote_source.address), temporary=True)
        driver.calls.grant(self._link.handle, len(self._requests))
        sender = Sender(driver, lambda: self._session, self._facts.naming.text(self._to), None)
        now = now_ms()
        for properties, text in self._requests:
            envelope = Envelope(
                self._to,
                BodyKind.TEXT,
                text,
                properties,
                None,
                now,
                persistent=False,
                expiration=now + int(1000 * self._patience),
                reply_to=reply_to,
            )
            ticket: Ticket = CallbackTicket(self._sent)
            sender.push(Outgoing(self._to, encoder.encode(envelope, now), ticket))

    def _sent(self, error: BackendError | None) -> None:
        if error is not None:
            self._finish(None, error)

    # -- what the broker says

    def on_delivery(self, delivery: Any) -> None:
        """A reply has arrived, perhaps only a part of it."""
        data = self._driver.calls.read(self._link.handle, delivery)
        if data is None:
            return
        self._driver.calls.dispose(delivery, states.ACCEPTED)
        try:
            *_, properties, others, code, body = Splitter().split(data)
        except Malformed as error:
            self._finish(None, BackendError(f"{self._to}: the answer is malformed: {error}", in_doubt=True))
            return
        text = body[0] if code == VALUE and isinstance(body[0], str) else ""
        succeeded = {**properties, **others}.get(SUCCEEDED) is True
        self._replies.append(Reply(succeeded, text, str(self._link.proton.remote_source.address)))
        if len(self._replies) == len(self._requests):
            self._finish(self._replies, None)

    def on_flow(self) -> None:
        """Does not matter."""

    def _ended(self, failure: Failure) -> None:
        """The broker ended the link or the session."""
        error = send_error(failure, str(self._to), self._driver.life.broker)
        error.in_doubt = True
        self._finish(None, error)

    def _finish(self, replies: list[Reply] | None, error: BackendError | None) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        self._driver.life.thread.cancel(self._timer)
        self._session.detach_and_end(ignored)
        done(replies, error)
