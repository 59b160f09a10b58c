"""Opens consumers and readers as each kind of subscription needs them. For the I/O thread."""

import itertools
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import _pulsar

from jmsbridge.spi import Address, AddressRefused, BackendError, Interest, LinkLost
from jmsbridge.transport.literal_names import check_key
from jmsbridge.transport.network.link_life import Done, ignored
from jmsbridge_pulsar.connection.errors import explain, result_of_code
from jmsbridge_pulsar.connection.library import Answered, Result
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.acknowledging import Acknowledging
from jmsbridge_pulsar.receiving.credit import Credit
from jmsbridge_pulsar.receiving.definitions import CLIENTS, NON_DURABLE
from jmsbridge_pulsar.receiving.takers import BATCH, ConsumerTaker, ReaderTaker

__all__ = [
    "has_more",
    "make_queue",
    "open_reader",
    "open_taker",
    "partitions_of",
    "reader_settings",
    "reserve_client_id",
    "subscription_name",
]

_numbers: Final = itertools.count(1)
_NOT_READY: Final = {2, 6}  # codes of errors that pass, as while the topic moves to another broker
_PAUSE: Final = 0.1  # seconds after such an error
_PATIENCE: Final = 10.0  # seconds for which it may last
_WIDE: Final = 4 * BATCH  # the prefetch from which messages are taken in batches, so that a full batch is often there
_ANSWERED: Final = re.compile(r"[-=:.A-Za-z0-9_]*")  # the broker takes it for a namespace, and fails with others
_RETURN: Final = 100  # milliseconds after which a returned message is asked for again; the library's least


def subscription_name(facts: LinkFacts, interest: Interest) -> str:
    """The name of its subscription at the broker, as in Java, or AddressRefused; empty if it has none of its own."""
    if not interest.address.topic:
        return facts.options.queue_subscription
    if interest.key is None:
        return ""
    check_key(interest.key, facts.life.broker)
    name = interest.key if facts.client_id is None else f"{facts.client_id}_{interest.key}"
    first, slash, _ = name.partition("/")
    if slash and not _ANSWERED.fullmatch(first):
        raise AddressRefused(
            f"subscription {name!r}: {facts.life.broker} never answers for a name with a slash after anything "
            "but ASCII letters, digits and - = : . _; use another name"
        )
    return name if interest.durable else f"{NON_DURABLE}{name}"


def _new_name(facts: LinkFacts) -> str:
    """For a consumer or reader, which the relay knows by it."""
    return f"{facts.sender}-{next(_numbers)}"


def open_taker(facts: LinkFacts, interest: Interest, credit: Credit, done: Done) -> None:
    """Open what takes its messages, as ``credit`` allows."""
    consumer = _new_name(facts)
    facts.controlled[consumer] = credit
    topic, name = facts.names.topic(interest.address), subscription_name(facts, interest)

    def opened(result: Any, made: Any) -> None:
        if result == Result.Ok:
            forget = partial(facts.controlled.pop, consumer, None)
            if name:
                acknowledging = Acknowledging(facts, consumer, made)
                done(ConsumerTaker(made, acknowledging, forget, batches=interest.window >= _WIDE), None)
            else:
                done(ReaderTaker(made, forget), None)
        else:
            del facts.controlled[consumer]
            said = facts.library.words.lately()
            done(None, explain(result, f"consuming {interest.address}", facts.life.broker, said=said))

    if name:
        is_queue = not interest.address.topic
        subscribing = _consumer(interest, earliest=is_queue)
        subscribing.consumer_name(consumer)
        _attach(facts, consumer, partial(facts.library.consumer, topic, name, subscribing), opened)
    else:
        settings = reader_settings(interest.window)
        settings.reader_name(consumer)
        _attach(facts, consumer, partial(facts.library.reader, topic, _pulsar.MessageId.latest, settings), opened)


def reader_settings(window: int) -> Any:
    """Those of a reader that takes so many messages ahead."""
    settings = _pulsar.ReaderConfiguration()
    settings.receiver_queue_size(max(1, window))
    settings.crypto_failure_action(_pulsar.ConsumerCryptoFailureAction.CONSUME)
    return settings


def open_reader(facts: LinkFacts, topic: str, start: Any, settings: Any, what: str) -> Any:
    """Open a reader of the client library from a message on; blocks."""
    name = _new_name(facts)
    settings.reader_name(name)

    def open_it(done: Done) -> None:
        def opened(result: Any, made: Any) -> None:
            said = facts.library.words.lately()
            done(made, None if result == Result.Ok else explain(result, what, facts.life.broker, said=said))

        _attach(facts, name, partial(facts.library.reader, topic, start, settings), opened)

    return facts.life.wait(open_it, what)


def has_more(facts: LinkFacts, reader: Any, what: str) -> bool:
    """Whether the topic has a message that the reader has not taken; blocks.

    The library's own call also says no if it gets no answer, so a no is asked for once more, with the result.
    """
    if reader.has_message_available():
        return True

    def ask(done: Done) -> None:
        def answered(result: Any, found: Any) -> None:
            done(found, None if result == Result.Ok else explain(result, what, facts.life.broker))

        facts.library.ask(reader.has_message_available_async, done=answered)

    return bool(facts.life.wait(ask, what))


def partitions_of(facts: LinkFacts, address: Address) -> list[str]:
    """The full names of the topics that it consists of: its partitions, or itself. Blocks."""

    def ask(done: Done) -> None:
        def answered(result: Any, found: Any) -> None:
            done(found, None if result == Result.Ok else explain(result, f"{address}", facts.life.broker))

        facts.library.partitions(facts.names.topic(address), answered)

    found: list[str] = facts.life.wait(ask, f"the partitions of {address}")
    return found


def make_queue(facts: LinkFacts, address: Address, done: Done) -> None:
    """Make the subscription of a queue: a topic without one keeps nothing. It takes no message from others."""
    consumer = _new_name(facts)
    facts.controlled[consumer] = Credit(facts.life, {}, {}, ignored, durable=True, takes=False)

    def opened(result: Any, made: Any) -> None:
        del facts.controlled[consumer]
        if result == Result.Ok:
            facts.library.ask(made.close_async, done=lambda *_: done(None, None))
            return
        said = facts.library.words.lately()
        if result == Result.ConsumerBusy and "Subscription reached" in said:  # so it is there
            done(None, None)
        else:
            done(None, explain(result, f"queue {address.name!r}", facts.life.broker, said=said))

    settings = _consumer(Interest(address=address, window=0), earliest=True)
    settings.consumer_name(consumer)
    topic = facts.names.topic(address)
    start = partial(facts.library.consumer, topic, facts.options.queue_subscription, settings)
    _attach(facts, consumer, start, opened)


def reserve_client_id(facts: LinkFacts, client_id: str, done: Answered) -> None:
    """Make a consumer that excludes another one of the same client id, and gets no messages."""

    def lost(error: BackendError) -> None:
        facts.life.die(LinkLost(f"the client id {client_id!r} is not reserved any more: {error}"))

    settings = _pulsar.ConsumerConfiguration()
    settings.consumer_type(_pulsar.ConsumerType.Exclusive)
    settings.receiver_queue_size(1)
    settings.consumer_name(facts.sender)
    facts.controlled[facts.sender] = Credit(facts.life, {}, {}, lost, durable=False, takes=False)
    topic = facts.names.topic(Address(CLIENTS, topic=True))
    _attach(facts, facts.sender, partial(facts.library.consumer, topic, client_id, settings), done)


def _attach(facts: LinkFacts, consumer: str, start: Callable[[Answered], None], done: Answered) -> None:
    """Start it, and again while the broker says that the topic is not ready, which the library reports only once.

    ``consumer`` is its name: others may be opened on the same topic at the same time.
    """
    deadline = time.monotonic() + _PATIENCE

    def answered(result: Any, made: Any) -> None:
        code = facts.library.words.code(consumer, result)
        if code is None:
            done(result, made)
        elif code not in _NOT_READY or time.monotonic() > deadline:
            done(result_of_code(code), None)
        else:
            facts.life.thread.call_later(_PAUSE, lambda: start(answered))

    start(answered)


def _consumer(interest: Interest, *, earliest: bool) -> Any:
    is_shared = interest.shared or not interest.address.topic
    settings = _pulsar.ConsumerConfiguration()
    settings.consumer_type(_pulsar.ConsumerType.Shared if is_shared else _pulsar.ConsumerType.Exclusive)
    settings.receiver_queue_size(max(1, interest.window))
    if interest.window >= _WIDE:
        settings.batch_receive_policy(_pulsar.BatchReceivePolicy(BATCH, -1, 1))
    settings.negative_ack_redelivery_delay_ms(_RETURN)
    settings.batch_index_ack_enabled(True)
    settings.crypto_failure_action(_pulsar.ConsumerCryptoFailureAction.CONSUME)  # else nothing more would come
    settings.subscription_initial_position(
        _pulsar.InitialPosition.Earliest if earliest else _pulsar.InitialPosition.Latest
    )
    settings.property("jms.destination.type", "topic" if interest.address.topic else "queue")
    return settings
