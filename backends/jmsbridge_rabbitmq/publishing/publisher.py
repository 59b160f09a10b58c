"""The way out of one SPI channel: a confirm channel on the publishing connection, opened with the first send.

Sends are encoded in the caller's thread and written in batches on the I/O thread. Where a destination has to be made
first, everything behind that send waits, so that the order is kept.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from jmsbridge.spi import (
    Address,
    AddressRefused,
    BackendError,
    ChannelLost,
    Envelope,
    LinkLost,
    NotSupported,
    SendCancelled,
    SendRefused,
    Ticket,
)
from jmsbridge_rabbitmq.broker import delay_queues, topology
from jmsbridge_rabbitmq.broker.conversations import Conversation
from jmsbridge_rabbitmq.connection.io_thread import Mailbox
from jmsbridge_rabbitmq.messages.wire import Outbound
from jmsbridge_rabbitmq.protocol import names, properties
from jmsbridge_rabbitmq.protocol.errors import ChannelException, out_of_channels, oversize, refusal
from jmsbridge_rabbitmq.protocol.fields import Malformed, Unencodable
from jmsbridge_rabbitmq.protocol.frames import Confirm, Content
from jmsbridge_rabbitmq.publishing.confirms import Confirms

if TYPE_CHECKING:
    from jmsbridge_rabbitmq.link import Link

__all__ = ["Publisher", "Sending", "now_ms"]

log = logging.getLogger("jmsbridge.rabbitmq")

_WINDOW_BYTES = 16 * 1024 * 1024
_BUSY = 64  # sends under way, above which the outbox is watched: no wake-up for each send
_TRIES = 15
_PAUSE = 0.1  # seconds between two tries


class Sending(msgspec.Struct, gc=False, eq=False):
    """One publish, from ``send`` to its answer. Not for the garbage collector: every list that has it is emptied."""

    exchange: str
    key: str
    made: Outbound
    ticket: Ticket | None
    owned: bool = False
    """To a temporary destination, say: there, or gone for good."""
    wait: int = 0
    """Milliseconds before it is to be delivered."""
    quorum: bool = False
    """Whether it waits in a quorum queue."""
    tries: int = 0
    returned: str | None = None

    def fail(self, error: BackendError) -> None:
        """The answer no."""
        if self.ticket is not None:
            self.ticket.fail(error)

    @property
    def place(self) -> tuple[int, str, bool]:
        """Where it waits, if it does."""
        return delay_queues.bucket(self.wait), self.exchange, self.quorum

    @property
    def via(self) -> str:
        """The exchange that it is published to."""
        return delay_queues.name_of(*self.place) if self.wait > 0 else self.exchange

    @property
    def mandatory(self) -> bool:
        """Whether somebody has to take it."""
        if self.exchange:
            return self.exchange != topology.TOPICS or self.wait > 0
        # a direct reply is delivered past all queues, and the broker says then that it went to none
        return not self.key.startswith(names.DIRECT_REPLY) or self.wait > 0

    @property
    def where(self) -> str:
        """The destination, for texts."""
        return f"{'topic' if self.exchange else 'queue'} {self.key!r}"


def now_ms() -> int:
    """The time as envelopes have it."""
    return time.time_ns() // 1_000_000


class Publisher:
    """All but ``send`` and ``copy`` belongs to the I/O thread."""

    def __init__(self, link: "Link") -> None:
        self._link = link
        self._outbox: Mailbox[Sending] = Mailbox(link.loop, self._flush, lambda each: each.fail(link.lost_early()))
        self._confirms: Confirms[Sending] = Confirms()
        self._bytes = 0
        self._channel: Any = None
        self._opening = False
        self._making = False
        self._pausing = False
        self._quorum = link.options.queue_type == "quorum"
        self._keeping: set[tuple[int, str, bool]] = set()  # waiting places that are being declared again
        self._closed: Callable[[], None] | None = None
        self._target: Address | None = None  # the last one that was looked at; any thread

    # -- any thread

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Encode and hand over."""
        link, address = self._link, envelope.address
        if link.loop.ended is not None and ticket is None:
            raise link.lost_early()
        now = now_ms()
        try:
            if address != self._target:
                names.check(address.name)
                self._target = address
            made = link.encoder.encode(envelope, now)
            if len(made.properties) > link.header_room:
                raise Unencodable(_too_many_headers(made, link.header_room))
            delay = envelope.delivery_time - now if envelope.delivery_time else 0
            if delay > delay_queues.LONGEST:
                raise delay_queues.too_long(delay, str(address), link.broker)
        except (Unencodable, AddressRefused, NotSupported) as error:
            refused = _unencodable(str(address), error) if isinstance(error, Unencodable) else error
            if ticket is None:
                raise refused from error
            ticket.fail(refused)
            return
        exchange = ""
        if address.topic:
            exchange = topology.TEMPORARY_TOPICS if address.temporary else topology.TOPICS
        wait = 0 if address.topic else delay  # a topic's subscribers are those of now: they make it wait
        self._outbox.put(Sending(exchange, address.name, made, ticket, address.temporary, wait, self._quorum))

    def copy(self, queue: str, raw: bytes, body: bytes, ticket: Ticket, *, wait: int = 0, there: bool = False) -> None:
        """Send a received message once more to a queue, after ``wait`` ms; ``raw`` are its properties, with an id.

        The queue is made where it is missing, unless it was ``there``.
        """
        made = Outbound(raw, body, _message_id(raw) or "")
        self._outbox.put(Sending("", queue, made, ticket, there, wait, self._quorum))

    # -- writing

    def _flush(self, outbox: deque[Sending]) -> None:
        link = self._link
        if self._closed is not None:
            while outbox:
                outbox.popleft().fail(ChannelLost("the channel is closed"))
            return
        if self._making or self._pausing or link.blocked:
            return
        if self._channel is None:
            self._open()
            return
        while outbox and not self._confirms.is_full and self._bytes < _WINDOW_BYTES:
            sending = outbox[0]
            if not self._is_there(sending):
                return
            outbox.popleft()
            self._publish(sending)
        if not outbox and len(self._confirms) >= _BUSY:
            self._outbox.watch()

    def _publish(self, sending: Sending) -> None:
        link, made = self._link, sending.made
        if len(made.body) > link.message_limit:
            sending.fail(SendRefused(_too_large(sending, link.message_limit, link.broker)))
            return
        self._confirms.sent(sending)  # before the write: whatever goes wrong there, it is answered
        try:
            link.publishing.publish(
                self._channel, sending.via, sending.key, sending.mandatory, made.properties, made.body
            )
        except Unencodable as error:
            self._confirms.take_back()
            sending.fail(_unencodable(sending.where, error))
            return
        self._bytes += len(made.body)

    def go_on(self) -> None:
        """Something that was waited for is there."""
        self._outbox.work()

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Forget those of these sends that are not written, and answer them."""
        link, items = self._link, self._outbox.items
        cancelled = {id(ticket) for ticket in tickets}
        alarm = "reads no messages, because an alarm of its memory or disk is on"
        why = alarm if link.blocked else "was busy with what stands before it"
        for sending in list(items):
            if id(sending.ticket) in cancelled:
                items.remove(sending)
                sending.fail(SendCancelled(f"{sending.where}: nothing of it was written; {link.broker} {why}"))

    def _is_there(self, sending: Sending) -> bool:
        """Whether the destination exists for all we know; if not, it is made, and sending goes on after that."""
        link, exchange, key = self._link, sending.exchange, sending.key
        if exchange and exchange not in link.exchanges:
            self._make(topology.ensure_exchange(exchange), sending, lambda: link.exchanges.add(exchange))
            return False
        if not exchange and not sending.owned and key not in link.queues:
            self._make(topology.ensure_queue(key, link.kinds), sending, lambda: link.remember(key))
            return False
        if sending.wait > 0:
            place = sending.place
            if link.waiting.get(place, 0.0) < time.monotonic():
                until = time.monotonic() + delay_queues.FRESH
                what = f"delaying a message for {sending.where} by {place[0]:,} ms"
                conversation = delay_queues.ensure_waiting(*place)
                self._make(conversation, sending, lambda: link.waiting.__setitem__(place, until), what)
                return False
        return True

    def _keep_place(self, sending: Sending) -> None:
        """What the broker took late, after an alarm, say, began to wait late: its place must not go before it."""
        link = self._link
        place = sending.place
        if place in self._keeping or link.waiting.get(place, 0.0) >= time.monotonic():
            return
        self._keeping.add(place)
        until = time.monotonic() + delay_queues.FRESH

        def kept(_: Any, error: BackendError | None) -> None:
            self._keeping.discard(place)
            if error is None:
                link.waiting[place] = until
            elif not isinstance(error, LinkLost):
                log.warning("%s: delayed messages may be lost with the queue where they wait: %s", sending.where, error)

        conversation = delay_queues.ensure_waiting(*place)
        link.control.ask(conversation, "keeping a queue for delayed messages", kept)

    def _make(self, conversation: Conversation, sending: Sending, made: Callable[[], None], what: str = "") -> None:
        self._making = True

        def done(_: Any, error: BackendError | None) -> None:
            self._making = False
            if error is None:
                made()
            elif not isinstance(error, LinkLost) and self._outbox.items and self._outbox.items[0] is sending:
                self._outbox.items.popleft().fail(error)
            self._outbox.work()

        self._link.control.ask(conversation, what or f"making {sending.where} for a send", done)

    # -- the channel

    def _open(self) -> None:
        if self._opening:
            return
        self._opening = True
        self._link.open_publishing(self._open_channel)

    def _open_channel(self) -> None:
        if not self._link.publishing.open_channel(self._opened):
            self._opening = False
            for sending in self._outbox.take():
                sending.fail(out_of_channels(f"sending to {sending.where}", self._link.broker))
            if self._closed is not None:
                self._closed()

    def _opened(self, channel: Any) -> None:
        channel.add_on_close_callback(self._lost)
        link = self._link
        link.publishing.listen(channel, self._returned, self._confirmed)

        def ready(_: Any) -> None:
            self._opening = False
            self._channel = channel
            if self._closed is None:
                self._outbox.work()
            else:
                channel.close()

        link.confirm_select(channel, ready)

    def _returned(self, content: Content) -> None:
        """What a mandatory publish gets before its confirmation when nothing takes it."""
        name = _message_id(content.properties)
        for sending in self._confirms.waiting():
            if sending.made.message_id == name and sending.key == content.routing_key and sending.returned is None:
                sending.returned = f"{content.reply_code} {content.reply_text}"
                break

    def _confirmed(self, confirm: Confirm) -> None:
        sendings = self._confirms.answered(confirm.tag, confirm.multiple)
        proven = self._link.proven
        for sending in sendings:
            self._bytes -= len(sending.made.body)
            if sending.returned is not None:
                self._unroutable(sending)
            elif not confirm.accepted:
                if not self._try_again(sending, sendings):
                    sending.fail(SendRefused(_full(sending, self._link.broker)))
            else:
                if sending.wait > 0:
                    self._keep_place(sending)
                elif not sending.exchange and sending.key not in proven:
                    self._link.prove(sending.key)
                if sending.ticket is not None:
                    sending.ticket.succeed()
        if self._outbox.items:
            self._outbox.work()

    def _try_again(self, sending: Sending, others: list[Sending]) -> bool:
        """A quorum queue that somebody has just made refuses until it has a leader: the first send waits for that.

        Not where another send to that queue is under way, for the sake of the order.
        """
        link, key = self._link, sending.key
        if sending.exchange or key in link.proven or self._making or self._closed is not None:
            return False
        if any(each.key == key and each is not sending for each in chain(others, self._confirms.waiting())):
            return False
        sending.tries += 1
        if sending.tries > _TRIES:
            link.prove(key)
            return False
        self._outbox.items.appendleft(sending)
        self._pausing = True
        link.loop.call_later(_PAUSE, self._end_pause)
        return True

    def _end_pause(self) -> None:
        self._pausing = False
        self._outbox.work()

    def _unroutable(self, sending: Sending) -> None:
        self._forget(sending)
        sending.fail(
            AddressRefused(
                f"{sending.where}: {self._link.broker} has nowhere to put the message ({sending.returned}): it does "
                "not exist any more"
            )
        )

    def _forget(self, sending: Sending) -> None:
        """Its destination may be gone, or the place where it was to wait."""
        self._link.forget(sending.exchange, sending.key)
        self._link.waiting.pop(sending.place, None)

    def _lost(self, channel: Any, reason: BaseException) -> None:
        """The channel is closed; by the broker where ``close`` was not called: the next send opens another."""
        self._channel, self._opening = None, False
        link = self._link
        if self._closed is not None:
            self._let_go(self._closed)
            return
        if link.loop.ended is not None or not link.publishing.is_open:
            return
        no = ChannelException(getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason)))
        self._bytes = 0
        self._answer_lost(no, self._confirms.give_up())
        self._outbox.work()

    def _answer_lost(self, no: ChannelException, sendings: list[Sending]) -> None:
        """What the broker refused is refused; what came before is in doubt; what came after was not looked at."""
        link = self._link
        size = oversize(no.text)
        if size is not None:
            link.message_limit = min(link.message_limit, size[1])
        first, last = _culprits(no, sendings, size)
        for sending in sendings[: last + 1]:
            self._forget(sending)
            if first == last and sending is sendings[last]:
                sending.fail(refusal(no, f"sending to {sending.where}", link.broker))
                continue
            lost = ChannelLost(f"sending to {sending.where}: {link.broker} closed the channel ({no})", in_doubt=True)
            lost.__cause__ = no
            sending.fail(lost)
        self._outbox.items.extendleft(reversed(sendings[last + 1 :]))

    # -- ends

    def end(self) -> None:
        """The link is gone: answer everything."""
        lost = self._link.lost_late()
        for sending in self._confirms.give_up():
            sending.fail(lost)
        self._outbox.refuse_all()

    def stalled(self) -> None:
        """The broker may have stopped reading: who closes does not wait for the end of an alarm."""
        if self._closed is not None and self._link.blocked:
            self._let_go(self._closed)

    def _let_go(self, closed: Callable[[], None]) -> None:
        lost = ChannelLost("the channel was closed before the broker had confirmed", in_doubt=True)
        for sending in self._confirms.give_up():
            sending.fail(lost)
        closed()

    def close(self, done: Callable[[], None]) -> None:
        """Close the channel when nothing is under way on it."""
        self._closed = done
        self._outbox.work()  # answers what was not sent
        if self._channel is not None and self._channel.is_open:
            self._link.publishing.expect()
            self._channel.close()
            self.stalled()
        elif not self._opening:
            done()


def _unencodable(where: str, error: Unencodable) -> SendRefused:
    refused = SendRefused(f"{where}: the message cannot be written as AMQP 0-9-1: {error}")
    refused.__cause__ = error
    return refused


def _too_many_headers(made: Outbound, room: int) -> str:
    return (
        f"headers and properties take {len(made.properties)} bytes, and a frame of this connection has room for {room}"
    )


def _message_id(raw: bytes) -> str | None:
    try:
        return properties.decode(raw).message_id
    except Malformed:
        return None


def _culprits(no: ChannelException, sendings: list[Sending], size: tuple[int, int] | None) -> tuple[int, int]:
    """Between which two it was that the broker closed the channel: places among the sends without an answer.

    What is too large or not allowed is refused always, so it was the first one; an exchange may have been there for the
    first of its messages.
    """
    found = [place for place, each in enumerate(sendings) if _is_about(no, each, size)]
    if not found:
        return 0, len(sendings) - 1
    return found[0], found[0] if size is not None or no.code == 403 else found[-1]


def _is_about(no: ChannelException, sending: Sending, size: tuple[int, int] | None) -> bool:
    if size is not None:
        return len(sending.made.body) == size[0]
    what, _, _ = no.text.rpartition(" in vhost '")  # behind that are the virtual host and the user
    if "topic '" in what and f"topic '{sending.key}'" not in what:
        return False
    return f"exchange '{sending.via or 'amq.default'}'" in what


def _full(sending: Sending, broker: str) -> str:
    return (
        f"{sending.where}: {broker} refused the message (basic.nack): the queue is full and its overflow policy is "
        "reject-publish, or the broker could not store it; consume from it, raise its limit, or send again later"
    )


def _too_large(sending: Sending, limit: int, broker: str) -> str:
    size = len(sending.made.body)
    return (
        f"{sending.where}: the message has {size} bytes and {broker} takes {limit} at most; send smaller messages, or "
        "raise max_message_size on the broker"
    )
