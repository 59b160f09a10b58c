"""Creates the queues of destinations before links use them. RabbitMQ has them made by requests to its management node.

A queue is a durable quorum queue, because a classic one does not count deliveries. It has the arguments that
``rabbitmq://`` declares, with a limit of deliveries that is never reached: the usual limit drops messages, and without
one the broker puts what is returned at the end of the queue. A topic is the exchange ``amq.topic``; each subscription
has an exclusive queue bound to it, which the broker deletes with its consumer.
"""

import uuid
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from jmsbridge.spi import AccessDenied, Address, AddressRefused, BackendError, LinkLost
from jmsbridge.transport.network.link_life import Done
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.nodes.management import Management

__all__ = ["Nodes"]

_QUEUE: Final = {
    "durable": True,
    "exclusive": False,
    "auto_delete": False,
    "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 1_000_000_000},
}
_SUBSCRIPTION: Final = {"durable": False, "exclusive": True, "auto_delete": True, "arguments": {}}
_TOPICS: Final = "amq.topic"
_MADE: Final = (200, 201, 204)
_EXISTS: Final = 409  # with other properties than those asked for
_FORBIDDEN: Final = (401, 403)
_MOST: Final = 10_000  # queues that are remembered


class Nodes:
    """The queues that one link has seen. ``ensure`` and ``consume`` are for the I/O thread."""

    def __init__(self, driver: Driver) -> None:
        self._life = driver.life
        self._management = Management(driver)
        self._known: set[Address] = set()

    def is_known(self, address: Address) -> bool:
        """Whether messages can be sent there already; any thread."""
        return address.topic or address in self._known

    def ensure(self, address: Address, done: Done) -> None:
        """Create the queue if there is none."""
        if self.is_known(address):
            done(None, None)
            return

        def made(error: BackendError | None) -> None:
            if error is None:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known.add(address)
            done(None, error)

        path = f"/queues/{quote(address.name, safe='')}"

        def looked(status: int, reason: str, error: BackendError | None) -> None:
            if error is not None or status in _MADE:
                made(error)
            else:
                self._ask("PUT", path, _QUEUE, put)

        def put(error: BackendError | None) -> None:
            if error is None or isinstance(error, AccessDenied | AddressRefused | LinkLost):
                made(error)
                return
            first = error  # another client may have created it at the same moment
            self._management.ask("GET", path, None, lambda status, *_: made(None if status in _MADE else first))

        self._management.ask("GET", path, None, looked)  # RabbitMQ 4.0 may end the session of a PUT of what exists

    def consume(self, address: Address, done: Done) -> None:
        """``done`` gets the name of the queue to consume; for a topic it is a new one, to which the topic is bound."""
        if not address.topic:
            self.ensure(address, lambda _, error: done(address.name, error))
            return
        name = f"jms-subscription-{uuid.uuid4()}"
        binding = {"source": _TOPICS, "destination_queue": name, "binding_key": address.name, "arguments": {}}

        def made(error: BackendError | None) -> None:
            if error is not None:
                done(None, error)
            else:
                self._ask("POST", "/bindings", binding, lambda error: done(name, error))

        self._ask("PUT", f"/queues/{name}", _SUBSCRIPTION, made)

    def _ask(self, method: str, path: str, body: dict[str, Any], done: Callable[[BackendError | None], None]) -> None:
        def answered(status: int, reason: str, error: BackendError | None) -> None:
            if error is None and status not in (*_MADE, _EXISTS):
                refused = AccessDenied if status in _FORBIDDEN else AddressRefused
                error = refused(f"{self._life.broker} refused {method} {path} ({status}: {reason})")
            done(error)

        self._management.ask(method, path, body, answered)
