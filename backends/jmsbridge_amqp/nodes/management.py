"""Requests to RabbitMQ's management node, over a pair of links and a session of their own. For the I/O thread.

https://www.rabbitmq.com/docs/amqp#management
"""

import itertools
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import proton

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.link_life import ignored
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.connection.amqp_link import AmqpLink
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.connection.terminus import link_name
from jmsbridge_amqp.messages.encoding import properties
from jmsbridge_amqp.messages.sections import Splitter
from jmsbridge_amqp.protocol.errors import Malformed
from jmsbridge_amqp.protocol.writing import encode, string

__all__ = ["Answered", "Management"]

log = logging.getLogger("jmsbridge.amqp")

_NODE = "/management"
_CREDIT = 100
_ID, _TO, _SUBJECT, _REPLY_TO, _CORRELATION_ID = 0, 2, 3, 4, 5

Answered = Callable[[int, Any, BackendError | None], None]
"""Gets the status, a number of HTTP, and what was asked for or the reason of a refusal; or the error if there was no
answer."""


class Management:
    """An answer names its request. The links are attached with the first request."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._session: LinkGroup | None = None
        self._sender: AmqpLink | None = None
        self._receiver: AmqpLink | None = None
        self._waiting: deque[bytes] = deque()
        self._unanswered: dict[str, Answered] = {}
        self._numbers = itertools.count(1)
        self._splitter = Splitter()
        driver.life.when_lost.append(self._lost)

    def ask(self, method: str, path: str, body: dict[str, Any] | None, answered: Answered) -> None:
        """Send a request."""
        request = str(next(self._numbers))
        fields = {_ID: string(request), _TO: string(path), _SUBJECT: string(method)}
        self._waiting.append(properties(fields | {_REPLY_TO: string("$me")}) + b"\x00\x53\x77" + encode(body))
        self._unanswered[request] = answered
        if self._session is None:
            self._attach()
        self.on_flow()

    def _attach(self) -> None:
        def ended(failure: Failure) -> None:
            if session is self._session:  # else it was told already: by another of its links, or by the session
                self._ended(failure)

        def attached(failure: Failure | None) -> None:
            if failure is not None:
                ended(failure)
            else:
                self.on_flow()

        session = self._session = LinkGroup(self._driver, ended)
        name = link_name()
        sender, receiver = session.proton.sender(name), session.proton.receiver(name)
        for made in (sender, receiver):
            made.source.address = made.target.address = _NODE
            made.snd_settle_mode = proton.Link.SND_SETTLED
            made.rcv_settle_mode = proton.Link.RCV_FIRST
            made.properties = proton.PropertyDict({proton.symbol("paired"): True})
        self._sender = AmqpLink(session, sender, self, ended)
        self._receiver = AmqpLink(session, receiver, self, ended)
        self._sender.attach(attached)
        self._receiver.attach(attached)
        self._driver.calls.grant(self._receiver.handle, _CREDIT)

    def on_flow(self) -> None:
        """Write what waits for credit."""
        calls, sender = self._driver.calls, self._sender
        while self._waiting and sender is not None and sender.handle is not None and calls.credit(sender.handle) > 0:
            calls.send(sender.handle, next(self._numbers), self._waiting.popleft(), None, settled=True)
            self._driver.expect()

    def on_delivery(self, delivery: Any) -> None:
        """An answer has arrived, perhaps only a part of it."""
        receiver = self._receiver
        if receiver is None or receiver.handle is None:
            return
        data = self._driver.calls.read(receiver.handle, delivery)
        if data is None:
            return
        self._driver.calls.dispose(delivery, states.ACCEPTED)
        self._driver.calls.grant(receiver.handle, 1)
        broker = self._driver.life.broker
        try:
            _, _, fields, _, _, _, body = self._splitter.split(data)
            if fields[_CORRELATION_ID] is None:
                raise Malformed("it does not name its request")
            answered = self._unanswered.pop(str(fields[_CORRELATION_ID]), None)
        except (Malformed, LookupError, TypeError, ValueError) as error:  # it may belong to any request: all fail
            self._ended(Failure("amqp:decode-error", f"an answer of {_NODE} is malformed: {error}"))
            return
        if answered is None:
            log.warning("%s: %s has answered although nothing was asked", broker, _NODE)
            return
        try:
            status, said = int(fields[_SUBJECT]), body[0] if body else ""
        except (LookupError, TypeError, ValueError) as error:
            answered(0, "", BackendError(f"{broker}: the answer of {_NODE} is malformed: {error}"))
        else:
            answered(status, said, None)

    def _ended(self, failure: Failure) -> None:
        session, self._session = self._session, None
        self._sender = self._receiver = None
        self._fail(BackendError(f"{self._driver.life.broker} ended the management of queues ({failure})"))
        if session is not None:
            session.end(ignored)

    def _lost(self) -> None:
        self._fail(self._driver.life.lost())

    def _fail(self, error: BackendError) -> None:
        self._waiting.clear()
        unanswered, self._unanswered = self._unanswered, {}
        for answered in unanswered.values():
            answered(0, "", error)
