"""Creates the queues of destinations before links use them. RabbitMQ has them made by requests to its management node.

A queue is a durable quorum queue, because a classic one does not count deliveries. It has the arguments that
``rabbitmq://`` declares, with a limit of deliveries that is never reached: the usual limit drops messages, and without
one the broker puts what is returned at the end of the queue. A topic is the exchange ``amq.topic``; each subscription
has an exclusive queue bound to it, which the broker deletes with its consumer.
"""

import time
import uuid
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from jmsbridge.spi import AccessDenied, Address, AddressRefused, BackendError, LinkLost
from jmsbridge.transport.network.link_life import Done
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure
from jmsbridge_amqp.connection.terminus import link_name
from jmsbridge_amqp.connection.trial import try_link
from jmsbridge_amqp.nodes.management import Management

__all__ = ["AGAIN", "PATIENCE", "Nodes"]

PATIENCE: Final = 5.0
"""Seconds for which a queue may be in creation."""

AGAIN: Final = 0.05
"""Seconds until it is tried again whether the queue can be used."""

_QUEUE: Final = {
    "durable": True,
    "exclusive": False,
    "auto_delete": False,
    "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 1_000_000_000},
}
_SUBSCRIPTION: Final = {"durable": False, "exclusive": True, "auto_delete": True, "arguments": {}}
_TOPICS: Final = "amq.topic"
_CREATED: Final = 201
_USED: Final = ("message_count", "consumer_count")
_UNREADY: Final = "amqp:internal-error"
_MADE: Final = (200, 201, 204)
_MISSING: Final = 404
_EXISTS: Final = 409  # with other properties than those asked for
_FORBIDDEN: Final = (401, 403)
_MOST: Final = 10_000  # queues that are remembered


class Nodes:
    """The queues that one link has seen. ``ensure`` and ``consume`` are for the I/O thread."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._life = driver.life
        self._management = Management(driver)
        self._known: set[Address] = set()
        self._probing: list[Callable[[BackendError | None], None]] = []
        driver.life.when_lost.append(self._lost)

    def is_known(self, address: Address) -> bool:
        """Whether messages can be sent there already; any thread."""
        return address.topic or address in self._known

    def forget(self, address: Address) -> None:
        """The broker did not find the queue: look for it again before the next message."""
        self._known.discard(address)

    def ensure(self, address: Address, done: Done) -> None:
        """Create the queue if there is none, and wait until it takes messages."""

        def ready(error: BackendError | None) -> None:
            if error is None:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known.add(address)
            done(None, error)

        def found(is_ready: bool, error: BackendError | None) -> None:
            if error is not None or is_ready:
                ready(error)
            else:
                self._probe(address, ready)

        if self.is_known(address):
            done(None, None)
        else:
            self._look(address, found)

    def _look(self, address: Address, found: Callable[[bool, BackendError | None], None]) -> None:
        """Create the queue if there is none; ``found`` is told whether it is certain that the queue takes messages.

        RabbitMQ tells others of a queue before that: a send is then rejected.
        """
        path = _path(address)

        def looked(status: int, said: Any, error: BackendError | None) -> None:
            if error is not None:
                found(False, error)
            elif status in _MADE:
                found(isinstance(said, dict) and any(said.get(key) for key in _USED), None)
            else:
                self._ask("PUT", path, _QUEUE, put)

        def put(status: int, error: BackendError | None) -> None:
            if error is None or isinstance(error, AccessDenied | AddressRefused | LinkLost):
                found(status == _CREATED, error)
                return
            first = error  # another client may have created it at the same moment
            self._management.ask("GET", path, None, lambda status, *_: found(False, None if status in _MADE else first))

        self._management.ask("GET", path, None, looked)  # RabbitMQ 4.0 may end the session of a PUT of what exists

    def _probe(self, address: Address, ready: Callable[[BackendError | None], None]) -> None:
        """Attach consumers without credit until one is not refused because the queue is still being created."""
        until = time.monotonic() + PATIENCE
        self._probing.append(ready)

        def make(session: Any) -> Any:
            made = session.receiver(link_name())
            made.source.address = _path(address)
            made.target.address = made.name
            return made

        def attach() -> None:
            if not self._life.is_over:
                try_link(self._driver, make, tried)

        def tried(failure: Failure | None) -> None:
            if failure is not None and failure.name == _UNREADY and time.monotonic() < until:
                self._life.thread.call_later(AGAIN, attach)
            elif ready in self._probing:
                self._probing.remove(ready)
                ready(None)  # if it is no good, the message is refused

        attach()

    def _lost(self) -> None:
        probing, self._probing = self._probing, []
        for ready in probing:
            ready(self._life.lost())

    def delete(self, address: Address, done: Done) -> None:
        """Delete the queue, if there is one; a topic is a routing key, which nothing keeps."""

        def deleted(status: int, error: BackendError | None) -> None:
            self.forget(address)
            done(None, None if status == _MISSING else error)

        if address.topic:
            done(None, None)
        else:
            self._ask("DELETE", _path(address), None, deleted)

    def consume(self, address: Address, done: Done) -> None:
        """``done`` gets the name of the queue to consume; for a topic it is a new one, to which the topic is bound."""
        if not address.topic:
            self._look(address, lambda _, error: done(address.name, error))
            return
        name = f"jms-subscription-{uuid.uuid4()}"
        binding = {"source": _TOPICS, "destination_queue": name, "binding_key": address.name, "arguments": {}}

        def made(_: int, error: BackendError | None) -> None:
            if error is not None:
                done(None, error)
            else:
                self._ask("POST", "/bindings", binding, lambda _, error: done(name, error))

        self._ask("PUT", f"/queues/{name}", _SUBSCRIPTION, made)

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None, done: Callable[[int, BackendError | None], None]
    ) -> None:
        def answered(status: int, reason: Any, error: BackendError | None) -> None:
            if error is None and status not in (*_MADE, _EXISTS):
                refused = AccessDenied if status in _FORBIDDEN else AddressRefused
                error = refused(f"{self._life.broker} refused {method} {path} ({status}: {reason})")
            done(status, error)

        self._management.ask(method, path, body, answered)


def _path(queue: Address) -> str:
    """Of its management, and its address for links."""
    return f"/queues/{quote(queue.name, safe='')}"
