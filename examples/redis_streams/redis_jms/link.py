"""A link: a connection with a name and a lease at the broker, and its channels."""

import contextlib
import importlib.resources
import itertools
import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import hiredis
import msgspec
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jmsbridge.spi import (
    Address,
    AddressRefused,
    AuthenticationFailed,
    ConnectFailed,
    Endpoint,
    Envelope,
    Inbox,
    Interest,
    LinkEvents,
    LinkLost,
    Native,
    Ticket,
)
from jmsbridge.transport.network.diagnosis import causes, unreachable
from jmsbridge.transport.network.link_life import Done
from jmsbridge.transport.network.requests import Requests
from jmsbridge.transport.tickets import Answer

from . import messages
from .replies import Replies, refusal
from .subscription import Subscription, place_of

if TYPE_CHECKING:
    from . import RedisOptions

__all__ = ["NATIVE", "Channel", "Link"]

_SUBSCRIPTIONS = Native.DURABLE | Native.SHARED | Native.SHARED_DURABLE | Native.EXCLUSIVE_DURABLE | Native.NO_LOCAL
NATIVE = (
    Native.SEND_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.TRANSACTIONS
    | Native.SEND_TRANSACTIONS
    | Native.BROWSE
    | _SUBSCRIPTIONS
    | Native.CLIENT_ID
    | Native.TEMPORARY
    | Native.EXPIRY
    | Native.DELIVERY_COUNT
    | Native.DUPLICATE_DETECTION
    | Native.DRAIN
    | Native.CREDIT
    | Native.RETURN
    | Native.FAIL
    | Native.RELEASE
    | Native.UNLIMITED_REQUEUE
    | Native.REJECT
)
_SCRIPT = importlib.resources.files(__package__).joinpath("broker.lua").read_bytes()
_JOINING = 5.0  # seconds for the threads of subscriptions to end


class Link:
    """One connection, which never reconnects."""

    def __init__(self, endpoint: Endpoint, options: "RedisOptions", events: LinkEvents) -> None:
        self.native = NATIVE
        self.broker = "Redis"
        self.options = options
        self._lease = int(options.lease * 1000)
        self.endpoint = endpoint
        self.events = events
        self.name = uuid.uuid4().hex
        self.origin = endpoint.client_id or self.name  # the sender's id, for no_local
        self.title = f"jmsbridge-redis-{self.name[:8]}"
        self.numbers = itertools.count(1)
        self.subscriptions: set[Subscription] = set()
        self._connection = self._connect()  # kept, because the socket is closed with it
        self.read = Replies(self._pushed).read
        self.requests = Requests(f"{self.title}-io", self.broker, endpoint, events, self)
        self.requests.open(self._connection._sock, self._begin)

    # -- connecting

    def _connect(self) -> redis.Connection:
        end = self.endpoint
        connection = redis.Connection(
            host=end.host or "localhost",
            port=end.port or 6379,
            username=end.user,
            password=end.password,
            db=int(end.path.strip("/") or 0),
            protocol=3,
            socket_timeout=end.connect_timeout,
            socket_connect_timeout=end.connect_timeout,
            retry=Retry(NoBackoff(), 0),
        )
        try:
            connection.connect()
            self._greet(lambda *command: (connection.send_command(*command), connection.read_response())[1])
        except redis.AuthenticationError as error:
            raise AuthenticationFailed(f"{end}: {error}") from error
        except redis.ResponseError as error:
            raise refusal(error) from error
        except (redis.RedisError, OSError) as error:
            raise ConnectFailed(f"{end}: {unreachable(causes(error), 'Redis', 6379)}") from error
        return connection

    def _greet(self, ask: Callable[..., Any]) -> None:
        """Ask the server for its name, version and persistence."""
        told = (line.partition(":") for line in ask("INFO", "server").decode().splitlines())
        facts = {name: value for name, _, value in told}
        self.broker = f"{facts.get('server_name', 'redis').capitalize()} {facts.get('redis_version', '')}"
        with contextlib.suppress(redis.ResponseError):  # without the right to ask, no capability is claimed
            kept = ask("CONFIG", "GET", "append*")
            if kept[b"appendonly"] == b"yes" and kept[b"appendfsync"] == b"always":
                self.native |= Native.SETTLE_CONFIRM
        self._script = ask("SCRIPT", "LOAD", _SCRIPT)

    def _begin(self, done: Done) -> None:
        """Take the lease and the client id; I/O thread."""
        self.requests.write(hiredis.pack_command(("SUBSCRIBE", f"{self.options.prefix}:wake")), None)
        hello = self._packed("hello", {"client": self.endpoint.client_id or "", "lease": self._lease})
        self.requests.write(hello, done)
        self.requests.life.thread.call_later(self.options.lease / 3, self._renew)

    # -- events; I/O thread

    def _renew(self) -> None:
        """Renew the lease, and requeue messages of lost links; if the lease has ended, the link is lost."""
        life = self.requests.life
        if life.is_over:
            return
        if self.requests.silence() > self.options.lease:
            life.die(LinkLost(f"no answer from {self.broker} for {self.options.lease:g} s"))
        else:
            self.requests.write(self._packed("renew", {"lease": self._lease}), lambda *_: None)
            life.thread.call_later(self.options.lease / 3, self._renew)

    def ended(self, error: LinkLost) -> None:
        for subscription in list(self.subscriptions):
            subscription.end(error, 0.0)

    def _pushed(self, reply: list[Any]) -> None:
        if reply[0] == b"message":
            for subscription in list(self.subscriptions):
                if subscription.store == reply[2].decode():
                    subscription.wake()

    # -- the SPI's verbs

    def channel(self, transacted: bool) -> "Channel":
        self.requests.life.check()
        return Channel(self, transacted)

    def declare(self, address: Address) -> Address:
        place = self.ask("declare", place=place_of(address), topic=address.topic).decode()
        return Address(place[2:], address.topic, temporary=True)

    def delete(self, address: Address) -> None:
        self.ask("delete", place=place_of(address))

    def unsubscribe(self, key: str, address: Address | None) -> None:
        self.ask("unsubscribe", store=self.store_of(key, durable=True))

    def close(self) -> None:
        self.requests.close(self._packed("bye", {}))
        for subscription in list(self.subscriptions):
            subscription.end(LinkLost("the link was closed"), _JOINING)

    # -- for channels and subscriptions

    def store_of(self, key: str, *, durable: bool) -> str:
        """The key of the messages of a durable or shared subscription."""
        return "s:" + json.dumps([durable, self.endpoint.client_id, key])

    def ask(self, verb: str, **args: Any) -> Any:
        """Call a verb of the broker, and wait for the answer."""
        return self.requests.ask(self._packed(verb, args), verb)

    def ask_closing(self, verb: str, **args: Any) -> None:
        """The same, for at most the time of a close."""
        self.requests.ask_closing(self._packed(verb, args), verb)

    def post(self, ticket: Ticket | None, verb: str, args: Any) -> None:
        """Pass a call to the I/O thread, in call order."""
        self.requests.post(self._packed(verb, args), ticket)

    def _packed(self, verb: str, args: Any) -> bytes:
        command = "EVALSHA", self._script, 0, self.options.prefix, self.name, verb, msgspec.msgpack.encode(args)
        packed: bytes = hiredis.pack_command(command)
        return packed


class Channel:
    """A sequence of sends; if transacted, it keeps them until the commit."""

    def __init__(self, link: Link, transacted: bool) -> None:
        self.link = link
        self.transacted = transacted
        self._steps: list[dict[str, Any]] = []

    def apply(self, ticket: Ticket | None, *steps: dict[str, Any], commits: bool = False) -> None:
        """Apply steps together: now, or, if ``commits`` is set and the channel is transacted, with the commit."""
        if commits and self.transacted:
            with Answer(ticket):
                self.link.requests.life.check()
                self._steps += steps
        else:
            self.link.post(ticket, "apply", steps)

    def copy_step(self, envelope: Envelope) -> dict[str, Any]:
        """The step that sends an envelope."""
        return {
            "part": "send",
            "place": place_of(envelope.address),
            "topic": envelope.address.topic,
            "temporary": envelope.address.temporary,
            "message": messages.encode(envelope),
            "duplicate": envelope.duplicate_id,
            "window": int(self.link.options.duplicate_window * 1000),
            "origin": self.link.origin,
        }

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        try:
            step = self.copy_step(envelope)
        except AddressRefused as error:
            with Answer(ticket):
                raise error
        else:
            self.apply(ticket, step, commits=True)

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        return Subscription(self.link, self, interest, inbox)

    def commit(self, ticket: Ticket) -> None:
        steps, self._steps = self._steps, []
        self.link.post(ticket, "apply", steps)

    def rollback(self, ticket: Ticket) -> None:
        with Answer(ticket):
            self._steps.clear()
            self.link.requests.life.check()

    def close(self) -> None:
        self._steps.clear()
        for subscription in list(self.link.subscriptions):
            if subscription.channel is self:
                subscription.close()
