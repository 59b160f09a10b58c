"""The sends of one SPI channel: a confirm channel on the publishing connection, opened with the first send.

Sends are encoded in the caller's thread and written in batches on the I/O thread. While a destination is being created,
all later sends wait, so that the order is kept.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

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
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.numbered_answers import NumberedAnswers
from jmsbridge_rabbitmq.broker import delay_queues, topology
from jmsbridge_rabbitmq.broker.conversations import Control, Conversation
from jmsbridge_rabbitmq.broker.known import KnownDestinations
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.messages.wire import Encoder, Outbound
from jmsbridge_rabbitmq.protocol import names
from jmsbridge_rabbitmq.protocol.errors import ChannelException, out_of_channels, oversize, refusal
from jmsbridge_rabbitmq.protocol.fields import Unencodable
from jmsbridge_rabbitmq.protocol.frames import Confirm, Content
from jmsbridge_rabbitmq.publishing.sending import (
    Sending,
    full,
    message_id,
    refused_range,
    too_large,
    too_many_headers,
    unencodable,
)

__all__ = ["Publisher"]

log = logging.getLogger("jmsbridge.rabbitmq")

_WINDOW_BYTES = 16 * 1024 * 1024
_BUSY = 64  # unconfirmed sends from which the I/O thread watches the outbox, without a wake-up per send
_TRIES = 15
_PAUSE = 0.1  # seconds between two attempts


class Publisher:
    """All but ``send`` and ``copy`` belongs to the I/O thread."""

    def __init__(
        self, pair: ConnectionPair, control: Control, known: KnownDestinations, encoder: Encoder, quorum: bool
    ) -> None:
        self._pair = pair
        self._life = life = pair.life
        self._thread = life.thread
        self._control = control
        self._known = known
        self._encoder = encoder
        self._outbox: Mailbox[Sending] = Mailbox(life.thread, self._flush, lambda each: each.fail(life.lost()))
        self._unconfirmed: NumberedAnswers[Sending] = NumberedAnswers()
        self._bytes = 0
        self._channel: Any = None
        self._opening = False
        self._making = False
        self._pausing = False
        self._quorum = quorum  # whether delayed messages wait in quorum queues
        self._keeping: set[tuple[int, str, bool]] = set()  # delay queues that are being declared again
        self._closing = False
        self._when_closed: list[Callable[[], None]] = []
        self._target: Address | None = None  # the last address that was checked; any thread

    # -- any thread

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Encode the message and pass it to the I/O thread."""
        address = envelope.address
        if self._thread.ended is not None and ticket is None:
            raise self._life.lost()
        now = now_ms()
        try:
            if address != self._target:
                names.check(address.name)
                self._target = address
            made = self._encoder.encode(envelope, now)
            if len(made.properties) > self._pair.header_room:
                raise Unencodable(too_many_headers(made, self._pair.header_room))
            delay = envelope.delivery_time - now if envelope.delivery_time else 0
            if delay > delay_queues.LONGEST:
                raise delay_queues.too_long(delay, str(address), self._life.broker)
        except (Unencodable, AddressRefused, NotSupported) as error:
            refused = unencodable(str(address), error) if isinstance(error, Unencodable) else error
            if ticket is None:
                raise refused from error
            ticket.fail(refused)
            return
        exchange = ""
        if address.topic:
            exchange = topology.TEMPORARY_TOPICS if address.temporary else topology.TOPICS
        wait = 0 if address.topic else delay  # topics route at once, and the subscriptions delay the message
        self._outbox.put(Sending(exchange, address.name, made, ticket, address.temporary, wait, self._quorum))

    def copy(self, queue: str, raw: bytes, body: bytes, ticket: Ticket, *, wait: int = 0, owned: bool = False) -> None:
        """Send a copy of a received message to a queue, after ``wait`` ms; ``raw`` are its properties, with an id.

        A missing queue is created, unless it is ``owned`` by a connection or known to exist.
        """
        made = Outbound(raw, body, message_id(raw) or "")
        self._outbox.put(Sending("", queue, made, ticket, owned, wait, self._quorum))

    # -- writing

    def _flush(self, outbox: deque[Sending]) -> None:
        if self._closing:
            while outbox:
                outbox.popleft().fail(ChannelLost("the channel is closed"))
            return
        if self._making or self._pausing or self._pair.blocked:
            return
        if self._channel is None:
            self._open()
            return
        while outbox and not self._unconfirmed.is_full and self._bytes < _WINDOW_BYTES:
            sending = outbox[0]
            if not self._is_there(sending):
                return
            outbox.popleft()
            self._publish(sending)
        if not outbox and len(self._unconfirmed) >= _BUSY:
            self._outbox.watch()

    def _publish(self, sending: Sending) -> None:
        made, limit = sending.made, self._known.message_limit
        if len(made.body) > limit:
            sending.fail(SendRefused(too_large(sending, limit, self._life.broker)))
            return
        self._unconfirmed.sent(sending)  # before the write, so that it is answered if that fails
        try:
            self._pair.publishing.publish(
                self._channel, sending.via, sending.key, sending.mandatory, made.properties, made.body
            )
        except Unencodable as error:
            self._unconfirmed.take_back()
            sending.fail(unencodable(sending.where, error))
            return
        self._bytes += len(made.body)

    def resume(self) -> None:
        """Continue sending."""
        self._outbox.work()

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Drop those of the sends that are not written, and answer them."""
        items = self._outbox.items
        cancelled = {id(ticket) for ticket in tickets}
        alarm = "reads no messages because of a memory or disk alarm"
        why = alarm if self._pair.blocked else "had not taken earlier messages"
        for sending in list(items):
            if id(sending.ticket) in cancelled:
                items.remove(sending)
                sending.fail(SendCancelled(f"{sending.where}: the message was not sent; {self._life.broker} {why}"))

    def _is_there(self, sending: Sending) -> bool:
        """Whether the destination is known to exist; if not, create it and continue sending after that."""
        known, exchange, key = self._known, sending.exchange, sending.key
        if exchange and exchange not in known.exchanges:
            self._make(topology.ensure_exchange(exchange), sending, lambda: known.exchanges.add(exchange))
            return False
        if not exchange and not sending.owned and key not in known.queues:
            self._make(topology.ensure_queue(key, known.kinds), sending, lambda: known.remember(key))
            return False
        if sending.wait > 0:
            place = sending.delay_queue
            if known.waiting.get(place, 0.0) < time.monotonic():
                until = time.monotonic() + delay_queues.FRESH
                what = f"delaying a message for {sending.where} by {place[0]:,} ms"
                conversation = delay_queues.ensure_waiting(*place)
                self._make(conversation, sending, lambda: known.waiting.__setitem__(place, until), what)
                return False
        return True

    def _keep_delay_queue(self, sending: Sending) -> None:
        """A late confirm starts the TTL late: declare the delay queue again, so that x-expires cannot remove it."""
        known, place = self._known, sending.delay_queue
        if place in self._keeping or known.waiting.get(place, 0.0) >= time.monotonic():
            return
        self._keeping.add(place)
        until = time.monotonic() + delay_queues.FRESH

        def kept(_: Any, error: BackendError | None) -> None:
            self._keeping.discard(place)
            if error is None:
                known.waiting[place] = until
            elif not isinstance(error, LinkLost):
                log.warning("%s: the queue with its delayed messages could not be kept alive: %s", sending.where, error)

        conversation = delay_queues.ensure_waiting(*place)
        self._control.ask(conversation, "keeping a delay queue alive", kept)

    def _make(self, conversation: Conversation, sending: Sending, made: Callable[[], None], what: str = "") -> None:
        self._making = True

        def done(_: Any, error: BackendError | None) -> None:
            self._making = False
            if error is None:
                made()
            elif not isinstance(error, LinkLost) and self._outbox.items and self._outbox.items[0] is sending:
                self._outbox.items.popleft().fail(error)
            self._outbox.work()

        self._control.ask(conversation, what or f"creating {sending.where} for a send", done)

    # -- the channel

    def _open(self) -> None:
        if self._opening:
            return
        self._opening = True
        self._pair.open_publishing(self._open_channel)

    def _open_channel(self) -> None:
        if not self._pair.publishing.open_channel(self._opened):
            self._opening = False
            for sending in self._outbox.take():
                sending.fail(out_of_channels(f"sending to {sending.where}", self._life.broker))
            self._tell_closed()

    def _opened(self, channel: Any) -> None:
        channel.add_on_close_callback(self._lost)
        self._pair.publishing.listen(channel, self._returned, self._confirmed)

        def ready(_: Any) -> None:
            self._opening = False
            self._channel = channel
            if self._closing:
                channel.close()
            else:
                self._outbox.work()

        self._pair.publishing.confirm_select(channel, ready)

    def _returned(self, content: Content) -> None:
        """basic.return: no queue took a mandatory publish; its confirm follows."""
        name = message_id(content.properties)
        for sending in self._unconfirmed.waiting():
            if sending.made.message_id == name and sending.key == content.routing_key and sending.returned is None:
                sending.returned = f"{content.reply_code} {content.reply_text}"
                break

    def _confirmed(self, confirm: Confirm) -> None:
        sendings = self._unconfirmed.answered(confirm.tag, confirm.multiple)
        proven = self._known.proven
        for sending in sendings:
            self._bytes -= len(sending.made.body)
            if sending.returned is not None:
                self._unroutable(sending)
            elif not confirm.accepted:
                if not self._try_again(sending, sendings):
                    sending.fail(SendRefused(full(sending, self._life.broker)))
            else:
                if sending.wait > 0:
                    self._keep_delay_queue(sending)
                elif not sending.exchange and sending.key not in proven:
                    self._known.prove(sending.key)
                if sending.ticket is not None:
                    sending.ticket.succeed()
        if self._outbox.items:
            self._outbox.work()

    def _try_again(self, sending: Sending, others: list[Sending]) -> bool:
        """Send again, because a new quorum queue refuses messages until it has a leader; False if that is not possible.

        It is not possible while another send to that queue is unconfirmed, because that would change the order.
        """
        known, key = self._known, sending.key
        if sending.exchange or key in known.proven or self._making or self._closing:
            return False
        if any(each.key == key and each is not sending for each in chain(others, self._unconfirmed.waiting())):
            return False
        sending.tries += 1
        if sending.tries > _TRIES:
            known.prove(key)
            return False
        self._outbox.items.appendleft(sending)
        self._pausing = True
        self._thread.call_later(_PAUSE, self._end_pause)
        return True

    def _end_pause(self) -> None:
        self._pausing = False
        self._outbox.work()

    def _unroutable(self, sending: Sending) -> None:
        self._forget(sending)
        sending.fail(
            AddressRefused(
                f"{sending.where} does not exist any more: {self._life.broker} returned the message "
                f"({sending.returned})"
            )
        )

    def _forget(self, sending: Sending) -> None:
        """Forget that its destination and its delay queue exist."""
        self._known.forget(sending.exchange, sending.key)
        self._known.waiting.pop(sending.delay_queue, None)

    def _lost(self, channel: Any, reason: BaseException) -> None:
        """The channel was closed; if by the broker, the next send opens another."""
        self._channel, self._opening = None, False
        if self._closing:
            self._end_closing()
            return
        if self._thread.ended is not None or not self._pair.publishing.is_open:
            return
        no = ChannelException(getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason)))
        self._bytes = 0
        self._answer_lost(no, self._unconfirmed.give_up())
        self._outbox.work()

    def _answer_lost(self, no: ChannelException, sendings: list[Sending]) -> None:
        """Fail the send that the broker refused; earlier ones are in doubt, later ones are sent again."""
        broker, size = self._life.broker, oversize(no.text)
        if size is not None:
            self._known.message_limit = min(self._known.message_limit, size[1])
        first, last = refused_range(no, sendings, size)
        for sending in sendings[: last + 1]:
            self._forget(sending)
            if first == last and sending is sendings[last]:
                sending.fail(refusal(no, f"sending to {sending.where}", broker))
                continue
            lost = ChannelLost(f"sending to {sending.where}: {broker} closed the channel ({no})", in_doubt=True)
            lost.__cause__ = no
            sending.fail(lost)
        self._outbox.items.extendleft(reversed(sendings[last + 1 :]))

    # -- ends

    def end(self) -> None:
        """The link is lost: answer all tickets."""
        lost = self._life.lost(in_doubt=True)
        for sending in self._unconfirmed.give_up():
            sending.fail(lost)
        self._outbox.refuse_all()

    def on_blocked(self) -> None:
        """During an alarm, do not let ``close`` wait for the broker."""
        if self._closing and self._pair.blocked:
            self._end_closing()

    def _end_closing(self) -> None:
        lost = ChannelLost("the channel was closed before the broker confirmed the send", in_doubt=True)
        for sending in self._unconfirmed.give_up():
            sending.fail(lost)
        self._tell_closed()

    def _tell_closed(self) -> None:
        # each is told once: during an alarm now, and not again when the broker's answer comes
        waiting, self._when_closed = self._when_closed, []
        for done in waiting:
            done()

    def close(self, done: Callable[[], None]) -> None:
        """Close the channel; unsent messages fail."""
        self._when_closed.append(done)
        self._closing = True
        self._outbox.work()  # answers what was not sent
        channel = self._channel
        if channel is not None:
            if channel.is_open:
                self._pair.publishing.expect()
                channel.close()
            self.on_blocked()
        elif not self._opening:
            self._tell_closed()
