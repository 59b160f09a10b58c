"""A subscription: it fetches while there is credit, and settles."""

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    Envelope,
    Inbox,
    Interest,
    LinkLost,
    Mode,
    Outcome,
    Ticket,
    rejected_to,
)
from jmsbridge.transport.deliveries.dead_letters import dead_letter_properties
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.deliveries.polling import CreditPump
from jmsbridge.transport.literal_names import check_literal
from jmsbridge.transport.tickets import Answer

from . import messages

if TYPE_CHECKING:
    from .link import Channel, Link

__all__ = ["Subscription", "place_of"]


def place_of(address: Address) -> str:
    """The broker's name of a queue or topic; AddressRefused."""
    check_literal(address, "Redis Streams")
    return f"{'t' if address.topic else 'q'}:{address.name}"


class _Token(NamedTuple):
    """The token of an arrival; the envelope is for the dead-letter queue."""

    id: str
    envelope: Envelope
    deliveries: int


class Subscription:
    """The source of a pump; its verbs may be called from any thread."""

    def __init__(self, link: "Link", channel: "Channel", interest: Interest, inbox: Inbox) -> None:
        self.native = link.native
        self._link = link
        self.channel = channel
        self._interest = interest
        self._number = str(next(link.numbers))
        self.store = place_of(interest.address)
        if interest.address.topic:
            self.store = link.store_of(interest.key or f"{link.name}/{self._number}", durable=interest.durable)
        self._after = "-"  # of a browser: where the next batch begins
        self._browses = interest.mode is Mode.BROWSE
        self._woken = threading.Event()
        self._pump = CreditPump(
            f"{link.title}-{self._number}-io",
            self,
            inbox,
            self._failed,
            accept=self._accept if interest.presettled else None,
            expire=self._expire,
        )
        link.subscriptions.add(self)
        try:
            self._attach(place_of(interest.address))
        except BaseException:
            self.end(LinkLost("not subscribed"), None)
            raise

    def _attach(self, place: str) -> None:
        interest = self._interest
        self._link.ask(
            "subscribe",
            number=self._number,
            store=self.store,
            place=place,
            browses=self._browses,
            topic=interest.address.topic,
            temporary=interest.address.temporary,
            durable="1" if interest.durable else "0",
            shared="1" if interest.shared else "0",
            definition=json.dumps([place, interest.selector, interest.no_local]),
            excluded=self._link.origin if interest.no_local else "",
        )

    # -- the SPI's verbs

    def grant(self, count: int) -> None:
        self._link.requests.life.check()
        self._pump.grant(count)

    def drain(self, ticket: Ticket) -> None:
        if self._link.requests.life.is_over:
            ticket.fail(self._link.requests.life.lost())
        else:
            self._pump.drain(ticket)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        accept = self._step("accept", tokens)
        if self._browses:
            with Answer(ticket):
                self._link.requests.life.check()
        elif outcome is Outcome.ACCEPTED:
            self.channel.apply(ticket, accept, commits=True)
        elif outcome is Outcome.REJECTED:
            self.channel.apply(ticket, *(self._letter(token, failures) for token in tokens), accept)
        else:
            failures = 0 if outcome is Outcome.RELEASED else failures
            deliveries = failures + (outcome is Outcome.REQUEUED)
            step = self._step("put_back", tokens) | {"deliveries": deliveries, "failures": failures}
            self.channel.apply(ticket, step)

    def retire(self) -> None:
        self._link.post(None, "retire", {"number": self._number, "store": self.store})

    def close(self) -> None:
        self.end(LinkLost("the consumer was closed"), self._link.endpoint.close_timeout)
        self._link.ask_closing("detach", number=self._number, store=self.store)

    def end(self, error: BackendError, patience: float | None) -> None:
        """Fetch no more; from any thread, the I/O thread included."""
        self._pump.close(error, patience)
        self._link.subscriptions.discard(self)

    # -- the pump's source, on its thread

    def fetch(self, most: int, *, wait: bool) -> Sequence[Arrival]:
        if self._browses:
            entries = self._link.ask("browse", store=self.store, most=most, after=self._after)
            if entries:
                self._after = "(" + entries[-1][0].decode()
        else:
            entries = self._link.ask("fetch", store=self.store, most=most, number=self._number)
        if wait and not entries:
            self._woken.wait()
            self._woken.clear()  # only now, so that a wake-up before the wait counts
        return [self._arrival(*entry) for entry in entries]

    def release(self, arrivals: Sequence[Arrival]) -> None:
        self.settle([arrival.token for arrival in arrivals], Outcome.RELEASED)

    def wake(self) -> None:
        self._woken.set()

    def _arrival(self, id: bytes, count: int, failures: Any, message: bytes) -> Arrival:
        try:
            envelope = messages.decode(self._interest.address, message)
        except (ValueError, KeyError, TypeError) as error:
            raise BackendError(f"{self.store}: entry {id.decode()} cannot be read: {error}") from error
        return Arrival(_Token(id.decode(), envelope, count), envelope, count > 1, count, int(failures))

    def _failed(self, error: BackendError) -> None:
        if not self._link.requests.life.is_over:
            self._link.events.subscription_lost(self, error)

    # -- steps

    def _step(self, part: str, tokens: Sequence[_Token]) -> dict[str, Any]:
        return {"part": part, "store": self.store, "number": self._number, "ids": [token.id for token in tokens]}

    def _accept(self, token: _Token) -> None:
        self.settle([token], Outcome.ACCEPTED)

    def _expire(self, token: _Token) -> None:
        if not self._browses:
            moved = [self._letter(token, 0)] if self._interest.expired else []
            self.channel.apply(None, *moved, self._step("accept", [token]))

    def _letter(self, token: _Token, failures: int) -> dict[str, Any]:
        """The step that copies a message to its dead-letter queue."""
        interest, envelope = self._interest, token.envelope
        queue, reason = rejected_to(interest, envelope, now_ms())
        target = Address(queue or self._link.options.dead_letter_queue)
        notes = dead_letter_properties(interest, target.name, reason, token.deliveries - 1 + failures)
        properties = {**envelope.properties, **notes}
        letter = msgspec.structs.replace(
            envelope, address=target, properties=properties, expiration=0, duplicate_id=None
        )
        return self.channel.copy_step(letter)
