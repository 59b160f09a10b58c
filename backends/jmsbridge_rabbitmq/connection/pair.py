"""One connection pair: a socket to consume, a socket to publish, and one I/O thread for both; never reconnects.

They are separate because a broker with a memory or disk alarm stops reading from publishers, and acknowledgements must
still get through. The socket to publish is opened with the first send. When one dies, both end.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Endpoint, LinkEvents, LinkLost
from jmsbridge.transport.network.link_life import Done, LinkLife
from jmsbridge_rabbitmq.connection.errors import connect_error, loss
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from jmsbridge_rabbitmq.connection.parameters import parameters
from jmsbridge_rabbitmq.connection.pika_socket import AmqpSocket

__all__ = ["ConnectionPair"]

_FRAME = 131_072
_RESERVED = 4_096  # bytes of a frame that headers leave free, for headers that the broker adds when it moves a message

_numbers = itertools.count(1)


class ConnectionPair:
    """The connections and the life of one link. All but ``life`` and ``silence`` belongs to the I/O thread.

    ``when_blocked`` is called with each change of ``blocked``, which says whether the broker has stopped reading from
    publishers.
    """

    def __init__(self, endpoint: Endpoint, options: RabbitOptions, events: LinkEvents) -> None:
        self.endpoint = endpoint
        self.blocked = False
        self.header_room = _FRAME - _RESERVED
        self.consuming: Any = None
        self.publishing: Any = None
        self.when_blocked: list[Callable[[bool], None]] = []
        self.number = next(_numbers)
        self.life = LinkLife(f"jmsbridge-rabbitmq-{self.number}-io", "RabbitMQ", endpoint, events, self)
        self.thread = self.life.thread
        self._events = events
        self._login = options.login
        self._parameters = parameters(endpoint, options)
        self._opening: list[Callable[[], None]] = []

    # -- opening

    def connect(self, connected: Callable[[str, str], None]) -> None:
        """Connect and authenticate; blocks. ``connected`` gets the broker's product and version."""
        self.life.connect(lambda done: self._connect(connected, done))

    def _connect(self, connected: Callable[[str, str], None], done: Done) -> None:
        def opened(_: Any) -> None:
            server = self.consuming.server_properties or {}
            product, version = str(server.get("product", "RabbitMQ")), str(server.get("version", ""))
            self.life.broker = f"{product} {version}".strip()
            self.header_room = (self.consuming.params.frame_max or _FRAME) - _RESERVED
            connected(product, version)
            done(None, None)

        def failed(_: Any, error: BaseException) -> None:
            self.life.refuse(connect_error(error, self.endpoint, self._login), done)

        self.consuming = self._new_connection(opened, failed)

    def _new_connection(self, opened: Callable[[Any], None], failed: Callable[[Any, BaseException], None]) -> Any:
        return AmqpSocket(
            self._parameters,
            on_open_callback=opened,
            on_open_error_callback=failed,
            on_close_callback=self._on_closed,
            custom_ioloop=self.thread.loop,
        )

    def open_publishing(self, done: Callable[[], None]) -> None:
        """Open the publishing connection, if it is not open, then call ``done``."""
        if self.publishing is not None and self.publishing.is_open:
            done()
            return
        self._opening.append(done)
        if self.publishing is not None:
            return

        def opened(connection: Any) -> None:
            connection.add_on_connection_blocked_callback(lambda *_: self._block(True))
            connection.add_on_connection_unblocked_callback(lambda *_: self._block(False))
            waiting, self._opening = self._opening, []
            for each in waiting:
                each()

        self.publishing = self._new_connection(opened, lambda _, error: self.life.die(error))

    def _block(self, active: bool) -> None:
        self.blocked = active
        self._events.throttled(active)
        for each in self.when_blocked:
            each(active)

    # -- what the life of the link needs

    def batch(self, task: Callable[[], None]) -> None:
        """Run ``task``, and join what it writes into one write per socket."""
        begun = [each for each in (self.consuming, self.publishing) if each is not None and each.begin()]
        try:
            task()
        finally:
            for each in begun:
                each.flush()

    def explain(self, error: BaseException) -> LinkLost:
        """The error for a lost connection."""
        return loss(error, str(self.endpoint))

    def answer_all(self) -> None:
        """Nothing more to answer than what ``LinkLife.when_lost`` has."""

    def silence(self) -> float:
        """Seconds for which an answer is due and the broker is silent; sends do not count during an alarm."""
        sockets = (self.consuming, None if self.blocked else self.publishing)
        asked = [since for each in sockets if each is not None and (since := each.asked) is not None]
        return time.monotonic() - min(asked) if asked else 0.0

    # -- the end

    def _on_closed(self, connection: Any, error: BaseException) -> None:
        self.life.die(error)
        self._stop_when_closed()

    def break_off(self, error: BaseException) -> None:
        """Close both sockets at once."""
        for each in (self.consuming, self.publishing):
            if each is not None and not each.is_closed:
                each.break_off(error if isinstance(error, Exception) else ConnectionError(str(error)))
        self._stop_when_closed()

    def _stop_when_closed(self) -> None:
        if all(each is None or each.is_closed for each in (self.consuming, self.publishing)):
            self.thread.stop()

    def close(self) -> None:
        """Close both connections by the protocol; break one off if the broker does not read it."""
        for each in (self.publishing, self.consuming):
            if each is not None and each.is_open and not (each is self.publishing and self.blocked):
                each.close()
            elif each is not None and not each.is_closed and not each.is_closing:
                each.break_off(ConnectionAbortedError("the link was closed"))
