"""The producers of a link, one for each address, and the outcome of each message.

The library opens a producer, and again when its topic moves. What is sent is written by us, past the library, between
its frames: each call of it gives Python's lock away, and a receipt would come to us by way of its threads. Messages
that are passed on together become one entry, and its receipt is theirs.

On a partitioned topic, and without batching, the library sends each message by itself.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import _pulsar

from jmsbridge.spi import Address, BackendError, LinkLost
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.link_life import Done, after_all, ignored
from jmsbridge_pulsar.connection.attachments import Attached
from jmsbridge_pulsar.connection.errors import explain
from jmsbridge_pulsar.connection.library import Result
from jmsbridge_pulsar.connection.protocol import Malformed
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.sending.encoding import built
from jmsbridge_pulsar.sending.entries import encode_entry
from jmsbridge_pulsar.sending.outgoing import Outgoing

__all__ = ["Producers"]

_MOST = 1000  # producers of one link; beyond that the one that was idle longest is closed
_ENTRY_MESSAGES = 100  # an entry goes to one consumer of a queue; larger ones are not faster
_ENTRY_BYTES = 1 << 18
_NEVER = 1 << 30  # more than can wait


class Producers:
    """For the I/O thread. ``prepare`` makes the subscription of a queue, so that its messages are kept.

    ``forgotten`` gets the address of each producer that is no longer used.
    """

    def __init__(self, prepare: Callable[[Address, Done], None], forgotten: Callable[[Address], None]) -> None:
        self._prepare = prepare
        self._forgotten = forgotten
        self._facts: LinkFacts | None = None
        self._made: OrderedDict[Address, _Producer] = OrderedDict()
        self._unflushed: set[_Producer] = set()

    def begin(self, facts: LinkFacts) -> None:
        """The link is open."""
        self._facts = facts

    def send(self, outgoing: Outgoing) -> None:
        """Pass a message on; ``flush`` follows in the same batch of work."""
        made = self._made.get(outgoing.address)
        if made is None:
            made = self._open(outgoing.address)
        made.send(outgoing)
        self._unflushed.add(made)

    def flush(self) -> None:
        """Close the entries of all producers."""
        unflushed, self._unflushed = self._unflushed, set()
        for producer in unflushed:
            producer.flush()

    def _open(self, address: Address) -> "_Producer":
        assert self._facts is not None
        made = self._made[address] = _Producer(self._facts, address, self._forget)
        while len(self._made) > _MOST:
            idle = next((one for one in self._made.values() if one.is_idle), None)
            if idle is None:
                break
            self._forget(idle)
            idle.close(ignored)
        self._prepare(address, made.prepared)
        return made

    def __contains__(self, address: Address) -> bool:
        return address in self._made

    def _forget(self, producer: "_Producer") -> None:
        if self._made.get(producer.address) is producer:
            del self._made[producer.address]
            self._forgotten(producer.address)

    def close_one(self, address: Address, done: Done) -> None:
        """Close the producer of an address, which is to be deleted."""
        producer = self._made.get(address)
        if producer is None:
            done(None, None)
        else:
            self._forget(producer)
            producer.close(done)

    def lose(self, topic: str, error: BackendError) -> list[Address]:
        """The broker has closed the producer of a topic, and does not let it in again; returns its addresses."""
        found = [each for each in self._made.values() if each.topic == topic]
        for producer in found:
            producer.lose(error)
        return [each.address for each in found]

    def closed(self, topic: str) -> list[Address]:
        """The broker has closed the producer of a topic, which the library opens again; returns its addresses."""
        found = [each for each in self._made.values() if each.topic == topic]
        for producer in found:
            producer.closed()
        return [each.address for each in found]

    def close(self, done: Done) -> None:
        """Wait for what is under way."""
        after_all([producer.close for producer in self._made.values()], lambda: done(None, None))

    def end(self, late: LinkLost, early: LinkLost) -> None:
        """The link is lost: ``late`` for what was passed to the library, else ``early``."""
        for producer in list(self._made.values()):
            producer.end(late, early)


class _Producer:
    """One producer; it is opened when it is made, and messages wait until then."""

    def __init__(self, facts: LinkFacts, address: Address, forget: "Callable[[_Producer], None]") -> None:
        self.address = address
        self._facts = facts
        self._forget = forget
        self.topic = facts.names.topic(address)
        self._producer: Any = None
        self._outlet: Attached | None = None  # where it is written, if that is not left to the library
        self._waiting: deque[Outgoing] = deque()
        self._entry: list[Outgoing] = []
        self._size = 0
        self._most = min(_ENTRY_BYTES, facts.largest)  # the broker's limit is for the whole entry
        self._under_way: dict[int, list[Outgoing]] = {}
        self._number = 0
        self._closing: list[Done] = []
        self._partitions: list[str] = []  # or the topic itself
        self._is_batched = False  # whether messages share entries, which we write
        self._is_stale = False  # the queue may have no subscription any more, or the topic other partitions
        self._is_preparing = False  # that is being found out, and messages wait

    @property
    def is_idle(self) -> bool:
        """Whether no message waits for its answer."""
        return not (self._waiting or self._entry or self._under_way) and self._producer is not None

    def prepared(self, _: Any, error: BackendError | None) -> None:
        """The queue has its subscription: find out whether the topic is partitioned."""
        if error is not None:
            self._refuse(error)
        else:
            self._facts.library.partitions(self.topic, self._open)

    def _open(self, result: Any, partitions: Any) -> None:
        if result != Result.Ok:
            self._opened(result, None)
            return
        self._partitions = list(partitions)
        self._is_batched = self._facts.options.batching and self._partitions == [self.topic]
        settings = _pulsar.ProducerConfiguration()
        settings.send_timeout_millis(0)  # an outcome is exact, or unknown because the link is lost
        settings.block_if_queue_full(False)
        settings.max_pending_messages(_NEVER)  # the facade bounds them by its send_window
        settings.batching_enabled(False)
        settings.property("jms.transactions", "disabled")
        self._facts.library.producer(self.topic, settings, self._opened)

    def _opened(self, result: Any, producer: Any) -> None:
        if result != Result.Ok:
            said = self._facts.library.words.lately()
            self._refuse(explain(result, f"sending to {self.address}", self._facts.life.broker, said=said))
            return
        if self._is_batched:
            self._outlet = outlet = self._facts.producer(self.topic, producer.producer_name())
            if outlet is None:  # closed by the broker, and not let in again
                self._facts.library.ask(producer.close_async, done=ignored)
                self._opened(Result.NotConnected, None)
                return
            outlet.sender = self
        self._producer = producer
        self._send_waiting(self.send)

    def _refuse(self, error: BackendError) -> None:
        """It cannot be opened: nothing was sent. The next message tries again."""
        self._forget(self)
        self._fail_waiting(error)
        self._look_closing()

    def _fail_waiting(self, error: BackendError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for outgoing in waiting:
            outgoing.fail(error)

    def send(self, outgoing: Outgoing) -> None:
        """Pass it on, or let it wait until the producer is open."""
        if self._facts.life.is_over:  # since a message before this one was written
            outgoing.fail(self._facts.life.lost())
            return
        if self._producer is None or self._is_preparing:
            self._waiting.append(outgoing)
            return
        if self._is_stale:
            self._is_stale, self._is_preparing = False, True
            self._waiting.append(outgoing)
            self._facts.make_queue(self.address, self._prepared_again)
            return
        if not self._is_batched:
            self._facts.library.ask(self._producer.send_async, built(outgoing.encoded), done=self._expect(outgoing))
            return
        if outgoing.alone or self._size + outgoing.encoded.size > self._most:
            self.flush()
        self._entry.append(outgoing)
        self._size += outgoing.encoded.size
        if outgoing.alone or len(self._entry) >= _ENTRY_MESSAGES:
            self.flush()

    def closed(self) -> None:
        """The broker has closed it: the next message makes the subscription of a queue again, lest it be kept for none.

        What is under way does not wait for that: it was sent before, as if its topic had been deleted with it.
        """
        self._is_stale = not self.address.topic or self._partitions != [self.topic]

    def _prepared_again(self, _: Any, error: BackendError | None) -> None:
        if error is None:
            self._facts.library.partitions(self.topic, self._compare)
        else:
            self._send_waiting(lambda outgoing: outgoing.fail(error))

    def _compare(self, result: Any, partitions: Any) -> None:
        """If the topic was made again with other partitions, the library would send to those that it knows."""
        is_other = result == Result.Ok and list(partitions) != self._partitions
        if is_other:
            self._forget(self)
        self._send_waiting(self._facts.producers.send if is_other else self.send)
        self._facts.producers.flush()
        if is_other:
            self.close(ignored)

    def _send_waiting(self, send: Callable[[Outgoing], None]) -> None:
        self._is_preparing = False
        waiting, self._waiting = self._waiting, deque()
        for outgoing in waiting:
            send(outgoing)
        self.flush()
        self._look_closing()

    def flush(self) -> None:
        """Close the entry."""
        entry, self._entry, self._size = self._entry, [], 0
        if self._facts.life.is_over:
            for outgoing in entry:
                outgoing.fail(self._facts.life.lost())
        elif entry:
            self._number += 1
            self._under_way[self._number] = entry
            self._facts.library.unanswered += 1
            self._write(self._number, entry)

    def _write(self, number: int, entry: list[Outgoing]) -> None:
        outlet, first = self._outlet, entry[0].encoded
        if outlet is not None and outlet.is_open:  # else once it is open again
            messages = [outgoing.data for outgoing in entry]
            place = outlet.number, outlet.producer, number, now_ms()
            outlet.insert(*encode_entry(*place, first.deliver_at, first.key, messages))

    def opened(self) -> None:
        """See ``Sender``."""
        for number, entry in self._under_way.items():
            self._write(number, entry)

    def answered(self, sequence: int, is_stored: bool) -> None:
        """See ``Sender``; Malformed if this was never sent."""
        entry = self._under_way.pop(sequence, None)
        if entry is not None:
            self._facts.library.unanswered -= 1
            self._answer(entry, Result.Ok if is_stored else Result.ChecksumError)
        elif sequence > self._number:
            raise Malformed(f"a receipt for entry {sequence}, where {self._number} was the last")

    def _expect(self, outgoing: Outgoing) -> Callable[[Any, Any], None]:
        self._number = number = self._number + 1
        self._under_way[number] = [outgoing]

        def answered(result: Any, _: Any) -> None:
            if self._under_way.pop(number, None) is not None:
                self._answer([outgoing], result)

        return answered

    def _answer(self, entry: list[Outgoing], result: Any) -> None:
        if result == Result.Ok:
            for outgoing in entry:
                if outgoing.ticket is not None:
                    outgoing.ticket.succeed()
        else:
            said = self._facts.library.words.lately() if result == Result.ChecksumError else ""
            broker = self._facts.life.broker
            error = explain(result, f"sending to {self.address}", broker, sending=True, said=said)
            for outgoing in entry:
                outgoing.fail(error)
            self._replace()
        self._look_closing()

    def lose(self, error: BackendError) -> None:
        """The broker has closed it, and does not let it in again: what is under way has no answer."""
        for outgoing in self._take_under_way():
            outgoing.fail(error)
        self._fail_waiting(BackendError(str(error)))  # not in doubt: it was not sent
        self._replace()

    def _take_under_way(self) -> list[Outgoing]:
        under_way, self._under_way = self._under_way, {}
        if self._is_batched:
            self._facts.library.unanswered -= len(under_way)
        return [outgoing for entry in under_way.values() for outgoing in entry]

    def _replace(self) -> None:
        """After a refusal the next message gets a new producer."""
        self._forget(self)
        if not self._closing:
            self.close(ignored)

    def close(self, done: Done) -> None:
        """Close it once every message has its answer."""
        self._closing.append(done)
        self._look_closing()

    def _look_closing(self) -> None:
        if not self._closing or self._waiting or self._entry or self._under_way:
            return
        closing, self._closing = self._closing, []
        producer, self._producer = self._producer, None

        def closed(*_: Any) -> None:
            for done in closing:
                done(None, None)

        if producer is None:
            closed()
        else:
            self._facts.library.ask(producer.close_async, done=closed)

    def end(self, late: LinkLost, early: LinkLost) -> None:
        """The link is lost."""
        for outgoing in (*self._take_under_way(), *self._entry):
            outgoing.fail(late)
        self._entry = []
        self._fail_waiting(early)
        self._look_closing()
        self._producer = None  # it holds threads of the library
