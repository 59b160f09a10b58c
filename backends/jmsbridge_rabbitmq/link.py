"""One life of a connection to RabbitMQ: a socket to consume, a socket to publish, and the thread that serves both.

Publishing has a socket of its own, because a broker under memory or disk pressure stops reading from publishers, and
acknowledgements must still get through. It is opened with the first send. When either dies, the link does.
"""

import itertools
import logging
import math
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from pika import spec

from jmsbridge.spi import (
    Address,
    AddressInUse,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    LinkEvents,
    LinkLost,
    Native,
    NotSupported,
    SubscriptionRefused,
)
from jmsbridge_rabbitmq.broker import selector_exchanges, topology
from jmsbridge_rabbitmq.broker.admin import RabbitAdmin
from jmsbridge_rabbitmq.broker.capabilities import native_with
from jmsbridge_rabbitmq.broker.conversations import Control, Conversation, Done
from jmsbridge_rabbitmq.broker.queue_kinds import QueueKinds
from jmsbridge_rabbitmq.channel import Channel
from jmsbridge_rabbitmq.connection.errors import connect_error, loss
from jmsbridge_rabbitmq.connection.fast_socket import socket_class
from jmsbridge_rabbitmq.connection.io_thread import Loop
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from jmsbridge_rabbitmq.connection.parameters import parameters
from jmsbridge_rabbitmq.consuming.consumer_channel import Source
from jmsbridge_rabbitmq.consuming.subscription import Subscription
from jmsbridge_rabbitmq.messages.wire import Encoder
from jmsbridge_rabbitmq.publishing.publisher import Publisher

__all__ = ["Link"]

log = logging.getLogger("jmsbridge.rabbitmq")

_DEADLINE = 30.0  # seconds within which the broker answers a question, or is given up; longer than a consumer's start
_JOINING = 5.0  # seconds for the I/O thread to end once it has let go of the broker
_SILENT = 0.9  # of the time for which a close waits: who says nothing for so long is given up
_CLIENT_ID_PATIENCE = 2.0  # seconds for the broker to notice the death of the link that had the client id
_NO_LIMIT = 1 << 62
_FRAME = 131_072
_RESERVED = 4_096  # of a frame for headers: what surrounds them, and what the broker adds when it moves the message
_MOST_QUEUES = 10_000

_numbers = itertools.count(1)


class Link(RabbitAdmin):
    """The SPI's Link and Admin; verbs from any thread, all else on the I/O thread. `RabbitBackend.open` makes it."""

    def __init__(self, endpoint: Endpoint, options: RabbitOptions, events: LinkEvents) -> None:
        self.endpoint = endpoint
        self.options = options
        self.events = events
        self.native: Native = native_with(options)
        self.broker = "RabbitMQ"
        java = options.subscription_names == "java" or (not options.subscription_names and options.dialect == "jms")
        self.names = topology.Names(endpoint.client_id, java)
        self.number = next(_numbers)
        self.stamp = endpoint.client_id or str(uuid.uuid4())
        self.encoder = Encoder(options.dialect, self.stamp, options.text_marker)
        self.message_limit = _NO_LIMIT
        self.header_room = _FRAME - _RESERVED
        self.blocked = False
        self.queues: set[str] = set()
        self.exchanges: set[str] = set()
        self.kinds = QueueKinds(options.queue_type, options.delivery_limit)
        self.proven: set[str] = set()  # queues to which a send was confirmed
        self.waiting: dict[tuple[int, str, bool], float] = {}
        self.locks: set[str] = set()
        self.temporaries: set[Address] = set()
        self.publishers: set[Publisher] = set()
        self.subscriptions: set[Subscription] = set()
        self.get_empty = spec.Basic.GetEmpty
        self.consuming: Any = None
        self.publishing: Any = None
        self.control = Control(lambda: self.consuming, lambda: self.broker, self.lost_late, self._call_later)
        self._copies: Publisher | None = None
        self._opening: list[Callable[[], None]] = []
        self._waits: set[_Wait] = set()
        self._closing = False
        self._probing = False
        self._lock = threading.RLock()  # guards _closing and _said; the handler of a signal may come here again
        self._said = False
        self._parameters = parameters(endpoint, options)
        name = f"jmsbridge-rabbitmq-{self.number}-io"
        self.loop = Loop(name, self._batch, lambda error: self._die(error))

    # -- opening

    def connect(self) -> None:
        """Connect and authenticate, and take the client id; leaves nothing behind when that fails."""
        timeout = self.endpoint.connect_timeout
        deadline = time.monotonic() + timeout
        wait = _Wait()
        self._waits.add(wait)
        self.loop.start(lambda: self._connect(wait))
        try:
            wait.result(timeout + 1.0, ConnectFailed(f"{self.endpoint}: no answer within {timeout:g} s"))
            self._waits.discard(wait)
            if self.options.topic_selectors == "broker":
                self._find_plugin(deadline)
            if self.endpoint.client_id:
                self._take_client_id(self.endpoint.client_id, deadline)
        except LinkLost as error:
            self.close()
            raise ConnectFailed(f"{self.endpoint}: {error}") from error
        except BaseException:
            self.close()
            raise

    def _connect(self, wait: "_Wait") -> None:
        def opened(_: Any) -> None:
            server = self.consuming.server_properties or {}
            product, version = str(server.get("product", "RabbitMQ")), str(server.get("version", ""))
            self.broker = f"{product} {version}".strip()
            self.kinds.learn(product, version)
            self.header_room = (self.consuming.params.frame_max or _FRAME) - _RESERVED
            wait.done(None, None)

        def failed(_: Any, error: BaseException) -> None:
            made = connect_error(error, self.endpoint, self.options.login)
            self.loop.ended = LinkLost(str(made))
            self.loop.stop()
            wait.done(None, made)

        self.consuming = self._new_connection(opened, failed)

    def _new_connection(self, opened: Callable[[Any], None], failed: Callable[[Any, BaseException], None]) -> Any:
        return socket_class()(
            self._parameters,
            on_open_callback=opened,
            on_open_error_callback=failed,
            on_close_callback=self._on_closed,
            custom_ioloop=self.loop.ioloop,
        )

    def _find_plugin(self, deadline: float) -> None:
        self._probing = True  # without the plugin the broker may close the connection, and nobody has the link yet
        try:
            self.ask(selector_exchanges.probe(), "looking for the plugin that selects", deadline)
        except BackendError as error:
            if "exchange type" not in str(error):
                raise
            raise NotSupported(
                f"topic_selectors=broker needs the plugin {selector_exchanges.PLUGIN} of {self.endpoint}: enable it"
                f" there (rabbitmq-plugins enable {selector_exchanges.PLUGIN}), or leave topic_selectors at client"
            ) from error
        self._probing = False

    def _take_client_id(self, client_id: str, deadline: float) -> None:
        patience = min(deadline, time.monotonic() + _CLIENT_ID_PATIENCE)
        while True:
            try:
                self.ask(topology.client_lock(client_id), f"taking client id {client_id!r}", deadline)
                return
            except AddressInUse as error:
                if time.monotonic() >= patience:
                    raise ClientIdRefused(
                        f"client id {client_id!r} is in use on {self.endpoint}; choose another or close that connection"
                    ) from error
                time.sleep(0.1)  # sleep: the broker tells nobody when it has noticed

    def open_publishing(self, done: Callable[[], None]) -> None:
        """Have the publishing connection, then go on; I/O thread."""
        if self.publishing is not None and self.publishing.is_open:
            done()
            return
        self._opening.append(done)
        if self.publishing is not None:
            return

        def opened(connection: Any) -> None:
            connection.add_on_connection_blocked_callback(lambda *_: self._throttle(True))
            connection.add_on_connection_unblocked_callback(lambda *_: self._throttle(False))
            waiting, self._opening = self._opening, []
            for each in waiting:
                each()

        self.publishing = self._new_connection(opened, lambda _, error: self._die(error))

    def confirm_select(self, channel: Any, done: Callable[[Any], None]) -> None:
        """Put a channel into confirm mode; I/O thread."""
        channel._rpc(spec.Confirm.Select(False), done, [spec.Confirm.SelectOk])

    def _throttle(self, active: bool) -> None:
        self.blocked = active
        self.events.throttled(active)
        for publisher in list(self.publishers):
            if active:
                publisher.stalled()
            else:
                publisher.go_on()
        for subscription in list(self.subscriptions) if active else ():
            subscription.stalled()

    def _call_later(self, seconds: float, task: Callable[[], None]) -> None:
        self.loop.call_later(seconds, task)

    def _batch(self, task: Callable[[], None]) -> None:
        """Run work so that what it writes is one write per socket."""
        begun = [each for each in (self.consuming, self.publishing) if each is not None and each.begin()]
        try:
            task()
        finally:
            for each in begun:
                each.flush()

    # -- asking, from any thread but the I/O thread

    def check(self) -> None:
        """LinkLost when the link is dead."""
        if self.loop.ended is not None:
            raise self.lost_early()

    def ask(self, conversation: Conversation, what: str, deadline: float = math.inf) -> Any:
        """Hold a conversation with the broker and wait for its result, at most until ``deadline``."""
        patience = min(_DEADLINE, max(0.0, deadline - time.monotonic()))
        return self.wait(lambda done: self.control.ask(conversation, what, done), what, patience=patience)

    def wait(
        self, start: Callable[[Done], None], what: str, *, patience: float = _DEADLINE, optional: bool = False
    ) -> Any:
        """Start something on the I/O thread and wait for it; a broker that does not answer within ``patience`` seconds
        is given up.

        ``optional`` says that the end of the link is as good an answer as any.
        """
        wait = _Wait()
        self._waits.add(wait)
        try:
            self.check()
            self.loop.post(lambda: start(wait.done))
            late = LinkLost(f"{what}: no answer from {self.broker} within {patience:.3g} s", in_doubt=True)
            try:
                return wait.result(patience, late)
            except LinkLost as error:
                if error is late:
                    self.loop.post(lambda: self._die(late))
                raise
        except LinkLost:
            if not optional:
                raise
            return None
        finally:
            self._waits.discard(wait)

    def wait_closing(self, start: Callable[[Done], None], what: str, *, optional: bool = True) -> None:
        """Start the end of something on the I/O thread and wait for it, no longer than ``close_timeout`` says.

        The time for which the broker owes an answer already counts. If it says nothing at all, the link is given up; if
        it is only slow, the end goes on by itself. Either is good enough where that is ``optional``, as is a link that
        ends meanwhile.
        """
        timeout = self.endpoint.close_timeout
        late = BackendError(f"{what}: no answer from {self.broker} within {timeout:.3g} s", in_doubt=True)
        wait = _Wait()
        self._waits.add(wait)
        try:
            self.check()
            self.loop.post(lambda: start(wait.done))
            wait.result(max(0.0, timeout - self._silence()), late)
        except BackendError as error:
            if error is late and self._silence() >= _SILENT * timeout:
                self.loop.post(lambda: self._die(LinkLost(str(late), in_doubt=True)))
            if not optional or not (error is late or isinstance(error, LinkLost)):
                raise
        finally:
            self._waits.discard(wait)

    def _silence(self) -> float:
        """For how many seconds the broker has owed an answer and said nothing; in an alarm it does not read sends."""
        sockets = (self.consuming, None if self.blocked else self.publishing)
        asked = [since for each in sockets if each is not None and (since := each.asked) is not None]
        return time.monotonic() - min(asked) if asked else 0.0

    def lost_early(self) -> LinkLost:
        """For what was not handed to the broker."""
        return _copy(self.loop.ended, in_doubt=False)

    def lost_late(self) -> LinkLost:
        """For what the broker may have got."""
        return _copy(self.loop.ended, in_doubt=True)

    # -- verbs

    def channel(self, transacted: bool) -> Channel:
        """Open an order domain."""
        self.check()
        if transacted:
            raise NotSupported(f"{self.broker} has no atomic transactions")
        return Channel(self)

    def declare(self, address: Address) -> Address:
        """Make a temporary destination; AddressInUse while another connection has it."""
        self.ask(topology.temporary(address), f"making {address}")
        self.temporaries.add(address)
        return address

    def delete(self, address: Address) -> None:
        """Remove a temporary destination without consumers."""
        self.check()
        if any(each.consumes(address) for each in list(self.subscriptions)):
            raise AddressInUse(f"{address} has consumers; close them first")
        what = f"deleting {address}"

        def start(done: Done) -> None:
            self.consuming.expect()
            self.control.ask(topology.delete_queue(address.name, str(address), self.kinds), what, done)

        self.wait_closing(start, what, optional=False)
        self.temporaries.discard(address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Forget a durable subscription."""
        self.check()
        queue = self.names.durable(key)
        if any(each.holds(queue) for each in list(self.subscriptions)):
            raise SubscriptionRefused(
                f"subscription {key!r} has messages that are neither acknowledged nor rolled back"
            )
        self.ask(topology.unsubscribe(queue, key, self.kinds), f"unsubscribing {key!r}")

    # -- for publishers and subscriptions

    @property
    def copies(self) -> Publisher:
        """Copies of received messages go out in an order of their own; I/O thread."""
        if self._copies is None:
            self._copies = Publisher(self)
            self.publishers.add(self._copies)
        return self._copies

    def remember(self, queue: str) -> None:
        """It exists."""
        if len(self.queues) >= _MOST_QUEUES:
            self.queues.clear()  # they are looked for again
            self.kinds.forget(None)
        self.queues.add(queue)

    def prove(self, queue: str) -> None:
        """It takes messages."""
        if len(self.proven) >= _MOST_QUEUES:
            self.proven.clear()
        self.proven.add(queue)

    def forget(self, exchange: str, key: str) -> None:
        """It may be gone: look again before the next use."""
        if exchange:
            self.exchanges.discard(exchange)
        else:
            self.queues.discard(key)
            self.kinds.forget(key)
            self.proven.discard(key)

    def forget_subscription(self, subscription: Subscription) -> None:
        """It was closed."""
        self.subscriptions.discard(subscription)

    def left(self, source: Source, done: Done | None = None) -> None:
        """A consumer is gone; a subscription that lives by its consumers goes with the last one."""
        queue = source.queue if source.expires else None
        if self.loop.ended is None and (queue is not None or source.lock is not None):
            self.locks.discard(source.queue)
            conversation = topology.end_subscription(queue, source.lock, self.kinds)
            self.control.ask(conversation, "closing a subscription", done or _ignore)
        elif done is not None:
            done(None, None)

    # -- the end

    def _on_closed(self, connection: Any, error: BaseException) -> None:
        self._die(error)
        if all(each is None or each.is_closed for each in (self.consuming, self.publishing)):
            self.loop.stop()

    def _die(self, error: BaseException) -> None:
        """Answer everything that is open, say so, and let go of the sockets."""
        with self._lock:
            said, self._said = self._said, True
        if not said:
            if self._closing:
                self.loop.ended = LinkLost("the link was closed")
            elif isinstance(error, LinkLost):
                self.loop.ended = error
            else:
                self.loop.ended = loss(error, str(self.endpoint))
            self.control.end()
            for publisher in list(self.publishers):
                publisher.end()
            for subscription in list(self.subscriptions):
                subscription.end()
            for wait in list(self._waits):
                wait.done(None, self.lost_late())
            if not self._closing and not self._probing:
                self.events.lost(self.lost_early())
        self._break_off(error)

    def _break_off(self, error: BaseException) -> None:
        for each in (self.consuming, self.publishing):
            if each is not None and not each.is_closed:
                each.break_off(error if isinstance(error, Exception) else ConnectionError(str(error)))
        if all(each is None or each.is_closed for each in (self.consuming, self.publishing)):
            self.loop.stop()

    def close(self) -> None:
        """End the link; idempotent."""
        with self._lock:
            self._closing = True
        if self.loop.ended is None:
            self.loop.post(self._close)  # each time, so that an interrupted close can be repeated
        self.loop.join(self.endpoint.close_timeout + _JOINING)

    def _close(self) -> None:
        patience = max(0.0, self.endpoint.close_timeout - self._silence())
        self.loop.call_later(patience, lambda: self._die(LinkLost("the link was closed")))
        limited = [each for each in list(self.subscriptions) if each.is_limited]
        left = len(limited)

        def finished(_: Any, __: BackendError | None) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._close_sockets()

        for subscription in limited:  # before the sockets, since messages near the limit are copied
            subscription.finish(finished)
        if not limited:
            self._close_sockets()

    def _close_sockets(self) -> None:
        for each in (self.publishing, self.consuming):
            if each is not None and each.is_open and not (each is self.publishing and self.blocked):
                each.close()
            elif each is not None and not each.is_closed and not each.is_closing:
                each.break_off(ConnectionAbortedError("the link was closed"))


class _Wait:
    """One answer on its way from the I/O thread.

    A plain lock, because who is interrupted while waiting for an event or a condition may leave it locked, and the I/O
    thread would stop there for ever.
    """

    def __init__(self) -> None:
        self._answer: tuple[Any, BackendError | None] | None = None
        self._unanswered = threading.Lock()
        self._unanswered.acquire()

    def done(self, result: Any, error: BackendError | None) -> None:
        """The first answer counts; I/O thread."""
        if self._answer is None:
            self._answer = result, error
            self._unanswered.release()

    def result(self, timeout: float, late: BackendError) -> Any:
        """The result, or its error, or ``late``."""
        self._unanswered.acquire(timeout=timeout)
        if self._answer is None:
            raise late
        result, error = self._answer
        if error is not None:
            raise error
        return result


def _copy(lost: BackendError | None, *, in_doubt: bool) -> LinkLost:
    made = LinkLost(str(lost), in_doubt=in_doubt)
    made.__cause__ = lost.__cause__ if lost is not None else None
    return made


def _ignore(_: Any, __: BackendError | None) -> None:
    """A tidying up that may fail: the broker does it a little later."""
