"""The SPI's Link: one client of the client library, behind a relay."""

import atexit
import itertools
import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import (
    Address,
    AddressRefused,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    Interest,
    LinkEvents,
    LinkLost,
    Native,
    NotSupported,
)
from jmsbridge.transport.literal_names import check_client_id
from jmsbridge.transport.network.forking import at_fork
from jmsbridge.transport.network.link_life import Done, LinkLife, after_all
from jmsbridge_pulsar.administration.admin import PulsarAdmin
from jmsbridge_pulsar.administration.rest import Rest, rest_of
from jmsbridge_pulsar.channel import Channel
from jmsbridge_pulsar.connection.attachments import Attached
from jmsbridge_pulsar.connection.errors import connect_error, explain, is_limit, loss, result_of_code
from jmsbridge_pulsar.connection.library import Library, Result
from jmsbridge_pulsar.connection.options import PulsarOptions, method_of
from jmsbridge_pulsar.connection.partitions import whole_of
from jmsbridge_pulsar.connection.relay import Relay
from jmsbridge_pulsar.facts import NATIVE, LinkFacts
from jmsbridge_pulsar.messages.names import Names
from jmsbridge_pulsar.positions import PulsarPositions
from jmsbridge_pulsar.receiving.definitions import delete_subscription
from jmsbridge_pulsar.receiving.opening import make_queue, reserve_client_id, subscription_name
from jmsbridge_pulsar.sending.producers import Producers

__all__ = ["Link", "open_link"]

log = logging.getLogger("jmsbridge.pulsar")

_numbers = itertools.count(1)
_living: "set[Link]" = set()  # those whose library may have threads
_inherited: "set[Link]" = set()
_ending = threading.Event()


def open_link(endpoint: Endpoint, options: PulsarOptions, events: LinkEvents) -> "Link":
    """Connect and log in."""
    check_client_id(endpoint)
    link = Link(endpoint, options, events)
    _living.add(link)  # before it connects, which may still be under way when the interpreter shuts down
    if _ending.is_set():
        _living.discard(link)
        raise ConnectFailed(f"{endpoint}: the interpreter is shutting down")
    link.connect()
    return link


def _abort_all() -> None:
    _ending.set()
    for link in list(_living):
        link.abort()


def _keep_all() -> None:
    """In a child process: the parent's are kept, since their objects cannot be destroyed without their threads."""
    _inherited.update(_living)
    _living.clear()


atexit.register(_abort_all)
at_fork(after_in_child=_keep_all)


class Link(PulsarAdmin, PulsarPositions):
    """Its methods are for any thread."""

    _facts: LinkFacts
    """There once the link is connected."""

    def __init__(self, endpoint: Endpoint, options: PulsarOptions, events: LinkEvents) -> None:
        self.native: Native = _native(options)
        self.broker = "Pulsar"
        self.endpoint = endpoint
        self._options = options
        self._events = events
        self._life = LinkLife(f"jmsbridge-pulsar-{next(_numbers)}-io", self.broker, endpoint, events, self)
        self._relay = Relay(self._life, options, self._broken, self._refused, self._closed)
        self._library = Library(self._life, self._relay.words)
        self._producers = Producers(self._make_queue, self._forget_queue)
        # None: made, and not again while there is a producer, which ends with its topic; else those who wait for it
        self._queues: dict[Address, list[Done] | None] = {}
        self._channels: set[Channel] = set()
        self._connecting: Done | None = None
        self._holder: Any = None  # the consumer that has the client id

    # -- opening

    def connect(self) -> None:
        """Connect; if that fails, leave nothing open."""
        self._life.open(self._connect, time.monotonic() + self.endpoint.connect_timeout)

    def _connect(self, done: Done) -> None:
        """Ask for something, which makes the library connect and log in; I/O thread."""
        self._connecting = done
        self._library.open(self._relay.listen(), self._relay.secret)

        def answered(result: Any, _: Any) -> None:
            connecting, self._connecting = self._connecting, None
            if connecting is None:
                return
            if self._relay.broker:
                self._learn()
                self._reserve(connecting)
            else:
                self._refuse(explain(result, f"{self.endpoint}", "the broker"), connecting)

        self._library.partitions(f"persistent://{self._options.namespace}/jmsbridge", answered)

    def _learn(self) -> None:
        said = self._relay.broker.removeprefix("Pulsar Server").strip(" -v") or "of an unknown version"
        self.broker = self._life.broker = f"Pulsar {said}"
        sender = str(uuid.uuid4())
        client_id = self.endpoint.client_id
        self._facts = LinkFacts(
            life=self._life,
            library=self._library,
            options=self._options,
            events=self._events,
            native=self.native,
            names=Names(self._options.namespace),
            sender=f"{client_id}_{sender}" if client_id is not None else sender,
            client_id=client_id,
            rest=rest_of(self.endpoint, self._options),
            producers=self._producers,
            producer=self._relay.attachments.producer,
            consumer=self._relay.attachments.consumer,
            controlled=self._relay.controlled,
            make_queue=self._make_queue,
            largest=self._relay.largest,
        )
        self._producers.begin(self._facts)

    def _reserve(self, connecting: Done) -> None:
        """Take the client id, if there is one, for this link."""
        client_id, facts = self.endpoint.client_id, self._facts
        if client_id is None:
            connecting(None, None)
            return

        def reserved(result: Any, holder: Any) -> None:
            said = self._library.words.lately()
            if result == Result.ConsumerBusy and not is_limit(result, said):
                text = f"client id {client_id!r} is in use on {self.endpoint}; use another, or close that connection"
                self._refuse(ClientIdRefused(text), connecting)
                return
            if result != Result.Ok:
                self.native &= ~Native.CLIENT_ID
                log.info("%s: client id %r is not reserved (%s: %s)", self.endpoint, client_id, result.name, said)
            self._holder = holder
            connecting(None, None)

        reserve_client_id(facts, client_id, reserved)

    def _make_queue(self, address: Address, done: Done) -> None:
        waiting = self._queues.get(address, [])
        if address.topic or waiting is None:
            done(None, None)
            return
        waiting.append(done)
        if len(waiting) > 1:
            return
        self._queues[address] = waiting

        def made(_: Any, error: BackendError | None) -> None:
            if error is None and address in self._producers:
                self._queues[address] = None
            else:
                del self._queues[address]
            for one in waiting:
                one(None, error)

        make_queue(self._facts, address, made)

    # -- verbs

    def channel(self, transacted: bool) -> Channel:
        """Make a channel."""
        self._life.check()
        if transacted:
            raise NotSupported(f"Pulsar's client library has no transactions ({self.broker})")
        made = Channel(self._facts, self._channels.discard)
        self._channels.add(made)
        return made

    def declare(self, address: Address) -> Address:
        """Not supported: a topic belongs to no connection."""
        self._life.check()
        raise NotSupported(f"{self.broker} has no temporary destinations ({address})")

    def delete(self, address: Address) -> None:
        """Delete a topic by the REST interface."""
        self._life.check()
        self.remove(Address(address.name, address.topic))

    def _administration(self) -> tuple[Rest, Names]:
        self._life.check()
        facts = self._facts
        if facts.rest is None:
            raise NotSupported(f"{self.broker} is administered over REST: set option admin_url")
        return facts.rest, facts.names

    def _let_go(self, address: Address) -> None:
        self._life.wait(lambda done: self._producers.close_one(address, done), f"removing {address}")
        self._life.thread.post(lambda: self._forget_queue(address))

    def _forget_queue(self, address: Address) -> None:
        if self._queues.get(address, []) is None:
            del self._queues[address]

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription."""
        rest, names = self._administration()
        facts = self._facts
        name = subscription_name(facts, Interest(address=address or Address("", True), key=key, durable=True))
        topic = None if address is None else names.topic(address)
        delete_subscription(rest, self._options.namespace, topic, name, (key, facts.client_id))

    def _reading(self) -> LinkFacts:
        self._life.check()
        return self._facts

    def close(self) -> None:
        """Answer what is under way, then end; idempotent."""
        self._life.close(self._close)
        self._join()

    def abort(self) -> None:
        """End at once: the library aborts the process if Python ends while a thread is in one of its calls."""
        self._life.close(lambda: self._life.die(LinkLost("the interpreter is shutting down")))
        self._join()

    def _join(self) -> None:
        for channel in list(self._channels):
            channel.join()

    def _close(self) -> None:
        """Wait for what is under way, and close consumers, which tells the broker what they accepted."""
        starts = [*(channel.finish for channel in self._channels), self._producers.close]
        if self._holder is not None:
            starts.append(lambda done: self._library.ask(self._holder.close_async, done=lambda *_: done(None, None)))
        after_all(starts, lambda: self._life.die(LinkLost("the link was closed")))

    # -- Wire

    def batch(self, task: Callable[[], None]) -> None:
        """Run work."""
        task()

    def explain(self, error: BaseException) -> LinkLost:
        """The error for the end of the link."""
        return loss(error, str(self.endpoint))

    def answer_all(self) -> None:
        """The link is lost."""
        self._producers.end(self._life.lost(in_doubt=True), self._life.lost())
        for channel in list(self._channels):
            channel.end()

    def break_off(self, error: BaseException) -> None:
        """Close every connection at once."""
        self._relay.close(self._end)

    def _end(self) -> None:
        self._holder = None
        self._library.shut_down()
        _living.discard(self)
        self._life.thread.stop()

    def silence(self) -> float:
        """For how many seconds the broker has owed an answer and sent nothing."""
        return time.monotonic() - self._relay.heard if self._library.unanswered else 0.0

    def _broken(self, error: BaseException) -> None:
        """A connection of the relay ended."""
        connecting, self._connecting = self._connecting, None
        if connecting is not None:
            method = method_of(self.endpoint, self._options)
            self._refuse(connect_error(error, self.endpoint, method), connecting)
        else:
            self._life.die(error)

    def _closed(self, attached: Attached) -> None:
        """A broker closed a producer or a consumer, or it is open again.

        Perhaps its topic was deleted, and then a queue is no queue now. What is open again may then be a partition of
        nothing: the library goes on with the topics that it knows.
        """
        whole = whole_of(attached.topic)
        if not attached.closed_at and whole == attached.topic:
            return
        if attached.name is None:
            for address in self._producers.closed(whole):
                self._forget_queue(address)
        elif not attached.closed_at:
            self._check_partition(attached.topic, attached.name)

    def _check_partition(self, topic: str, consumer: str) -> None:
        """End a consumer that has this partition of a topic, if the topic was deleted."""
        whole, broker = whole_of(topic), self._life.broker

        def answered(result: Any, partitions: Any) -> None:
            controlled = self._relay.controlled.get(consumer)
            if controlled is not None and result == Result.Ok and topic not in list(partitions):
                error = AddressRefused(f"consuming {whole}: its partitions were deleted ({broker}); consume it anew")
                controlled.refused(error)

        self._library.partitions(whole, answered)

    def _refused(self, attached: Attached, code: int, said: str) -> None:
        """A broker closed a producer or a consumer, and does not let it in again."""
        result, broker = result_of_code(code), self._life.broker
        topic = whole_of(attached.topic)
        if attached.name is None:
            error = explain(result, f"sending to {topic}", broker, sending=True, said=said)
            for address in self._producers.lose(topic, error):
                if result == Result.TopicTerminated:  # it keeps nothing any more, and may be on its way to be deleted
                    self._queues.setdefault(address, None)
        elif attached.name in self._relay.controlled:
            self._relay.controlled[attached.name].refused(explain(result, f"consuming {topic}", broker, said=said))

    def _refuse(self, error: BackendError, connecting: Done) -> None:
        """It could not be opened."""

        def ended() -> None:
            self._end()
            self._life.refuse(error, connecting)

        self._relay.close(ended)


def _native(options: PulsarOptions) -> Native:
    native = NATIVE
    if not options.dead_letter_queue:
        native &= ~Native.REJECT
    if options.admin_url is None:
        native &= ~Native.BROWSE
    return native
