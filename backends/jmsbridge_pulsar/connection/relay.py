"""The relay: the client library connects to it, and it connects to the brokers.

The library reconnects by itself and tells nobody, so the relay is where a link learns at once that a connection broke,
and where it ends for good: every broken connection ends the link. It also logs in and does TLS, so that both are as on
other brokers and no secret reaches the library, and answers lookups so that all connections pass through it.

All of it belongs to the I/O thread.
"""

import secrets
import socket
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from jmsbridge.transport.network.forking import abandoned_at_fork
from jmsbridge.transport.network.link_life import LinkLife, ignored
from jmsbridge.transport.network.loop import Timer
from jmsbridge_pulsar.connection.attachments import Attached, Attachments, Controlled
from jmsbridge_pulsar.connection.errors import Words
from jmsbridge_pulsar.connection.options import PORT, TLS_PORT, PulsarOptions
from jmsbridge_pulsar.connection.pipe import Pipe
from jmsbridge_pulsar.connection.protocol import (
    Frame,
    Malformed,
    contents,
    encode_lookup,
    encode_no_address,
    number_of,
    parse_lookup,
    soften,
    words_of,
)

__all__ = ["Relay"]

_HOST: Final = "127.0.0.1"
_LARGEST: Final = 5 * 1024 * 1024  # bytes of a message, unless the broker says another limit
_STRANGERS: Final = 64  # connections that have not shown the secret yet; beyond that the oldest is closed
_LEAVING: Final = 0.5  # seconds in which the library must have noticed that a connection has ended
_SETTLING: Final = 0.005  # seconds for what it does then
_DOORS: Final = 1000  # brokers to which others refer for lookups


class Relay:
    """``broken`` gets the error of the first connection that ends, or that cannot be made.

    ``refused`` gets a producer or consumer that a broker has closed and does not let in again, with its code and words;
    ``closed`` gets each that a broker has closed, and once more when it is open again.
    """

    def __init__(
        self,
        life: LinkLife,
        options: PulsarOptions,
        broken: Callable[[BaseException], None],
        refused: Callable[[Attached, int, str], None],
        closed: Callable[[Attached], None],
    ) -> None:
        self.secret = secrets.token_urlsafe(24)
        """What the library must show: other processes of this machine can connect, too."""
        self.broker = ""
        """The version that the broker said; empty until then."""
        self.largest = _LARGEST
        """Bytes of the largest message that the broker takes."""
        self.heard = time.monotonic()
        """When the last bytes came from a broker."""
        self.words = Words()
        """What the broker said when it refused a message."""
        self.controlled: dict[str, Controlled] = {}
        """By the name of a consumer, who gives it credit."""
        self.attachments = Attachments(refused, closed, self.words)
        self.life = life
        self.options = options
        self._broken = broken
        self._proxied: set[str] = set()  # brokers that can be reached only through the address of the URL
        self._pipes: dict[Pipe, None] = {}
        self._strangers: dict[Pipe, None] = {}
        self._doors: dict[str | None, socket.socket] = {}  # by the broker that answers the lookups from there
        self._done: Callable[[], None] | None = None  # what to call once it is closed
        self._timer: Timer | None = None
        _relays.add(self)

    def listen(self) -> str:
        """Begin; returns the URL for the library."""
        return self._door(None)

    def _door(self, broker: str | None) -> str:
        """The URL where lookups are asked of this broker, or of the one in the URL of the link."""
        door = self._doors.get(broker)
        if door is None:
            if len(self._doors) > _DOORS:
                raise Malformed("brokers refer lookups to each other without end")
            self._doors[broker] = door = socket.create_server((_HOST, 0))
            door.setblocking(False)
            loop, listening = self.life.thread.loop, door
            loop.add_handler(door.fileno(), lambda fd, events: self._accept(listening, broker), loop.READ)
        return f"pulsar://{_HOST}:{door.getsockname()[1]}"

    def _accept(self, door: socket.socket, broker: str | None) -> None:
        if not self._doors:
            return
        try:
            accepted, _ = door.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:  # such as too many open files
            self._broken(error)
            return
        pipe = Pipe(self, accepted, broker)
        self._pipes[pipe] = self._strangers[pipe] = None
        if len(self._strangers) > _STRANGERS:
            self.drop(next(iter(self._strangers)))

    def trust(self, pipe: Pipe) -> None:
        """This one has shown the secret."""
        self._strangers.pop(pipe, None)

    def close(self, done: Callable[[], None]) -> None:
        """Close every connection to a broker at once and take no more; ``done`` is called once the library knows.

        If the library is ended before that, threads of it stay for ever. If it is closed already, nothing happens.
        """
        if self._done is not None:
            return
        self._done = done
        doors, self._doors = self._doors, {}
        for door in doors.values():
            self.life.thread.loop.remove_handler(door.fileno())
            door.close()
        for pipe in list(self._pipes):
            pipe.leave()
        if self._pipes:
            self._timer = self.life.thread.call_later(_LEAVING, self._end)
        else:
            self._look_ended()

    def _look_ended(self) -> None:
        if self._done is not None and not self._pipes:
            self.life.thread.call_later(_SETTLING, self._end)

    def _end(self) -> None:
        for pipe in list(self._pipes):
            self._pipes.pop(pipe)
            pipe.close()
        if self._timer is not None:
            self.life.thread.cancel(self._timer)
        done, self._done = self._done, ignored
        if done is not None:
            done()

    def abandon(self) -> None:
        """In a child process: close its copies of the sockets that listen. ``ByteStream`` closes the others."""
        for door in self._doors.values():
            door.close()

    def target(self, broker: str | None) -> tuple[str, int, str | None]:
        """Host and port to connect to, and the broker to name to the proxy that is there."""
        endpoint = self.life.endpoint
        host, port = endpoint.host or "localhost", endpoint.port or self._usual_port
        if broker is None:
            return host, port, None
        if broker in self._proxied:
            return host, port, broker
        if self.options.single_address:
            return host, port, None
        try:
            parts = urlsplit(f"//{broker}")
            if parts.hostname:
                return parts.hostname, parts.port or self._usual_port, None
        except ValueError:  # the same as without a host
            pass
        raise Malformed(f"{broker[:100]!r} as the address of a broker")

    @property
    def is_secure(self) -> bool:
        """Whether brokers are reached over TLS."""
        return self.life.endpoint.scheme.endswith("+ssl")

    @property
    def _usual_port(self) -> int:
        return TLS_PORT if self.is_secure else PORT

    def learn(self, connected: bytes) -> None:
        """Note what the broker said when it accepted a connection."""
        found = contents(connected)
        self.broker = words_of(found, 1) or "Pulsar Server"
        largest = number_of(found, 3)
        if 0 < largest < 1 << 31:
            self.largest = largest

    def answer_lookup(self, frame: Frame) -> bytes:
        """The answer to a lookup that leads the library back to the relay."""
        found = parse_lookup(frame.command, tls=self.is_secure)
        if found.is_failed:
            data, said = soften(frame)
            self.words.say(said)
            return data
        if not found.broker:
            self.words.say(f"no address for connections {'with' if self.is_secure else 'without'} TLS")
            return encode_no_address(frame)
        if found.is_redirect:
            return encode_lookup(frame, self._door(found.broker), is_redirect=True)
        if found.is_proxied:
            self._proxied.add(found.broker)
        return encode_lookup(frame, f"pulsar://{found.broker}", is_redirect=False)

    def drop(self, pipe: Pipe) -> None:
        """Close one connection; nobody is told."""
        self._pipes.pop(pipe, None)
        self._strangers.pop(pipe, None)
        pipe.close()
        self._look_ended()

    def end(self, pipe: Pipe, error: BaseException) -> None:
        """One connection broke."""
        if pipe in self._pipes:
            self.drop(pipe)
            self._broken(error)


_relays = abandoned_at_fork(Relay)
