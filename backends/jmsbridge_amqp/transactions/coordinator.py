"""The coordinator link of a transacted channel: declares and discharges transactions. For the I/O thread."""

import itertools
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Final

import proton

from jmsbridge.spi import BackendError
from jmsbridge_amqp.connection import states
from jmsbridge_amqp.connection.amqp_link import AmqpLink, Attached
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure, failure_of
from jmsbridge_amqp.connection.link_group import LinkGroup
from jmsbridge_amqp.connection.terminus import OUTCOMES, link_name, offered_by, symbols

__all__ = ["Coordinator", "Discharged"]

_LOCAL: Final = "amqp:local-transactions"
_DECLARE: Final = bytes.fromhex("005377005331c0020140")

Discharged = Callable[[Failure | None, BackendError | None], None]
"""Gets the broker's refusal, or the error with which the link was lost before the answer; neither if it was done."""


class _Request:
    __slots__ = ("answered", "begins", "commits", "data")

    def __init__(
        self, data: bytes, answered: Callable[[int, Any, BackendError | None], None], *, commits: bool = False
    ) -> None:
        self.data = data
        self.answered = answered
        self.commits = commits
        self.begins = 0


class Coordinator:
    """``ended`` is called when the broker closes the link; what is unanswered is left to ``end``."""

    def __init__(self, driver: Driver, session: LinkGroup, ended: Callable[[Failure], None]) -> None:
        self._driver = driver
        self._calls = driver.calls
        self._waiting: deque[_Request] = deque()
        self._unanswered: dict[Hashable, _Request] = {}
        self._numbers = itertools.count(1)
        self.capabilities: frozenset[str] = frozenset()
        made = session.proton.sender(link_name())
        made.source.address = made.name
        symbols(made.source.outcomes, *OUTCOMES)
        made.target.type = proton.Terminus.COORDINATOR
        symbols(made.target.capabilities, _LOCAL)
        made.snd_settle_mode = proton.Link.SND_UNSETTLED
        made.rcv_settle_mode = proton.Link.RCV_FIRST
        self._ended = ended
        self._link = AmqpLink(session, made, self, ended)

    def attach(self, attached: Attached) -> None:
        """Attach the link; ``attached`` gets the broker's refusal or None."""

        def answered(failure: Failure | None) -> None:
            if failure is None:
                self.capabilities = offered_by(self._link.proton.remote_target)
            attached(failure)

        self._link.attach(answered)

    def declare(self, declared: Callable[[bytes | None, Failure | None], None]) -> None:
        """Begin a transaction; ``declared`` gets its id, or the broker's refusal."""

        def answered(state: int, delivery: Any, error: BackendError | None) -> None:
            if error is not None:
                return
            data = self._calls.public(delivery).remote
            if state == states.DECLARED:
                declared(_declared_id(data), None)
            else:
                declared(None, failure_of(data.condition))

        self._ask(_Request(_DECLARE, answered))

    def discharge(self, txn: bytes, *, fail: bool, discharged: Discharged) -> None:
        """Commit the transaction, or with ``fail`` roll it back."""

        def answered(state: int, delivery: Any, error: BackendError | None) -> None:
            if error is not None:
                discharged(None, error)
            elif state == states.ACCEPTED:
                discharged(None, None)
            else:
                discharged(failure_of(self._calls.public(delivery).remote.condition), None)

        fields = b"\xa0" + bytes((len(txn),)) + txn + (b"\x41" if fail else b"\x42")
        body = b"\x00\x53\x77\x00\x53\x32\xc0" + bytes((len(fields) + 1, 2)) + fields
        self._ask(_Request(body, answered, commits=not fail))

    def _ask(self, request: _Request) -> None:
        self._waiting.append(request)
        self.on_flow()

    def on_flow(self) -> None:
        """Write what waits for credit."""
        handle = self._link.handle
        while handle is not None and self._waiting and self._calls.credit(handle) > 0:
            request = self._waiting.popleft()
            request.begins = self._driver.produced
            delivery = self._calls.send(handle, next(self._numbers), request.data, None, settled=False)
            self._unanswered[delivery] = request
            self._driver.expect()

    def on_delivery(self, delivery: Any) -> None:
        """The broker's answer."""
        if delivery not in self._unanswered:
            return
        state = self._calls.outcome(delivery)
        if state in (0, states.RECEIVED):
            if self._calls.is_settled(delivery):  # so it is unknown what the broker did; ``end`` says so
                self._ended(Failure("amqp:illegal-state", "a request was settled without an outcome"))
            return
        request = self._unanswered.pop(delivery)
        request.answered(state, delivery, None)
        self._calls.settle(delivery)

    def end(self, early: BackendError, doubt: Callable[[int], BackendError]) -> None:
        """The channel or the link is lost: answer what is open."""
        unanswered, self._unanswered = self._unanswered, {}
        waiting, self._waiting = self._waiting, deque()
        for request in unanswered.values():
            request.answered(0, None, doubt(request.begins) if request.commits else early)
        for request in waiting:
            request.answered(0, None, early)


def _declared_id(remote: Any) -> bytes:
    """The id in a declared state; a later version of proton has a class for it."""
    found = getattr(remote, "id", None)
    if found is None:
        found = remote.data[0]
    return bytes(found)
