"""``jmsbridge move``, and the transfer of messages between queues without loss."""

import contextlib
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer

import jmsbridge
from jmsbridge import Connection, Destination, Message, MessageProducer, Queue
from jmsbridge.cli.printing import print_json
from jmsbridge.cli.progress import counting
from jmsbridge.cli.receive import Tally, check_whole
from jmsbridge.cli.running import OK, note, reporting
from jmsbridge.cli.target import (
    Broker,
    JsonArg,
    LimitArg,
    SelectorArg,
    complete_target,
    queue_named,
    warn_if_fleeting,
    warn_if_private,
)
from jmsbridge.config import Target, resolve
from jmsbridge.errors import ConfigurationError, UnsupportedFeature
from jmsbridge.spi import NotSupported

__all__ = ["move", "transfer"]

_STEP = 1000  # messages per call, between which Ctrl-C and the progress bar are handled
_TRANSACTION = 100
_PATIENCE = 1.0
_SAME = "source and target are the same queue of the same broker"

_ElsewhereArg = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="URL|PROFILE",
        help="The broker of TARGET, if it is another one; --user, --password and --option are for that of SOURCE.",
        show_default=False,
        autocompletion=complete_target,
    ),
]


def move(
    broker: Broker,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The queue to move from.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The queue to move to.")],
    elsewhere: _ElsewhereArg = None,
    selector: SelectorArg = None,
    limit: LimitArg = None,
    as_json: JsonArg = False,
) -> int:
    """Move messages from one queue to another, in order.

    Messages that a consumer holds stay. The broker moves them if it can; otherwise, and always to another broker, they
    are received and sent in transactions of 100, so that none is lost, and get new message ids. If it is interrupted,
    up to 100 may be at both brokers.

    Examples:

      jmsbridge move orders orders.eu --selector "region = 'eu'"

      jmsbridge move DLQ orders --limit 10 --json

      jmsbridge move orders orders --target old --to new
    """
    here, there = queue_named(source), queue_named(target)
    _check(broker, elsewhere, here == there)
    tally = Tally()

    def report(whole: bool) -> None:
        if as_json:
            print_json({"source": str(here.address), "target": str(there.address), "moved": tally.count})
        else:
            note(f"{'' if whole else 'at least '}{tally.count} moved from {here.address} to {there.address}")

    with ExitStack() as stack:
        connection = stack.enter_context(broker.connect())
        other = stack.enter_context(jmsbridge.connect(elsewhere)) if elsewhere is not None else None
        stack.enter_context(reporting(report))
        tally.show = stack.enter_context(counting("moved", total=limit))
        if other is None:
            _move(connection, here, there, selector, limit, tally)
        elif _may_hold(connection, here):
            transfer(connection, here, selector, limit, _onward(there), tally, to=other)
    return OK


def _check(broker: Broker, elsewhere: str | None, same_name: bool) -> None:
    """Refuse a move onto itself, or to a broker that ends with the command."""
    if elsewhere is None:
        if same_name:
            raise ConfigurationError("source and target are the same queue")
        return
    other = resolve(elsewhere)
    if warn_if_private(other):
        raise ConfigurationError("--to: the embedded broker in memory ends with this command: give it a folder")
    if same_name and _places(other) & _places(broker.resolve()):
        raise ConfigurationError(_SAME)
    if fleeting := warn_if_fleeting(other):
        note(f"note: {fleeting}")


def _places(target: Target) -> set[tuple[object, ...]]:
    return {
        (each.host, each.port, os.path.realpath(each.path) if each.host is None else "") for each in target.endpoints
    }


def _onward(there: Queue) -> Callable[[Message], Destination]:
    """Where each message goes; ConfigurationError if the first one comes again, from a broker with another name."""
    first: list[Message] = []

    def readdress(message: Message) -> Destination:
        if first and message.jms_message_id == first[0].jms_message_id:
            raise ConfigurationError(_SAME)
        first[:] = first or [message]
        return there

    return readdress


def _may_hold(connection: Connection, queue: Queue) -> bool:
    """False if the queue is known to be empty: a consumer would create it, even if its name is mistyped."""
    with contextlib.suppress(UnsupportedFeature, NotSupported):
        return connection.admin.depth(queue) > 0
    return True


def _move(
    connection: Connection,
    here: Queue,
    there: Queue,
    selector: str | None,
    limit: int | None,
    show: Callable[[int], None],
) -> None:
    depth = None
    try:
        admin = connection.admin
        depth = admin.depth(here)
        # At most as many as there are now: the queue may fill as fast as it is emptied.
        left = max(depth, 1) if limit is None else limit
        moved, most = 0, _STEP
        while left > moved and (step := admin.move(here, there, selector, min(most, left - moved))):
            moved += step
            show(moved)
            if selector is not None:
                most *= 2  # each step scans again the messages that do not match, so make few steps
    except (UnsupportedFeature, NotSupported):
        if depth == 0:  # a consumer would create the queue, even if its name is mistyped
            return
        transfer(connection, here, selector, limit, lambda message: there, show)


def transfer(
    connection: Connection,
    source: Queue,
    selector: str | None,
    limit: int | None,
    readdress: Callable[[Message], Destination],
    show: Callable[[int], None],
    to: Connection | None = None,
) -> int:
    """Receive messages and send each to the result of ``readdress``, in transactions; returns how many.

    Ends when no message is available; JMSError if an emulated selector has not seen all by then. Whatever stops it,
    each message is in exactly one of the queues; with ``to``, a connection to another broker, those of the last
    transaction may be in both. Priority, delivery mode and time to live are kept.
    """
    session = connection.create_session(True)
    sending = session if to is None else to.create_session(True)

    def commit() -> None:
        if sending is not session:
            sending.commit()
        session.commit()

    connection.start()
    consumer = session.create_consumer(source, selector)
    producer = sending.create_producer(None)
    count = batch = 0
    while True:
        is_last = count + batch == limit
        message = None if is_last else consumer.receive(timeout=0 if batch else _PATIENCE)
        if message is not None:
            _forward(message, producer, readdress(message))
            batch += 1
        if batch and (batch == _TRANSACTION or message is None):
            commit()
            count, batch = count + batch, 0
            show(count)
        elif message is None:
            break
    if count != limit:
        check_whole(consumer, source)
    session.close()
    sending.close()
    return count


def _forward(message: Message, producer: MessageProducer, where: Destination) -> None:
    left = message.jms_expiration / 1000 - time.time() if message.jms_expiration else 0.0
    producer.send(
        where,
        message,
        delivery_mode=message.jms_delivery_mode,
        priority=message.jms_priority,
        time_to_live=max(left, 0.001) if message.jms_expiration else 0.0,
    )
