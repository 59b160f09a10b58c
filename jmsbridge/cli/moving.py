"""``jmsbridge move``, and the transfer of messages between queues without loss."""

import time
from collections.abc import Callable
from typing import Annotated

import typer

from jmsbridge import Connection, Destination, Message, Queue
from jmsbridge.cli.printing import print_json
from jmsbridge.cli.progress import counting
from jmsbridge.cli.receive import Tally, check_whole
from jmsbridge.cli.running import OK, note, reporting
from jmsbridge.cli.target import Broker, JsonArg, LimitArg, SelectorArg, queue_named
from jmsbridge.errors import ConfigurationError, UnsupportedFeature
from jmsbridge.spi import NotSupported

__all__ = ["move", "transfer"]

_STEP = 1000  # messages per call, between which Ctrl-C and the progress bar are handled
_TRANSACTION = 100
_PATIENCE = 1.0


def move(
    broker: Broker,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The queue to move from.")],
    to: Annotated[str, typer.Argument(metavar="TARGET", help="The queue to move to.")],
    selector: SelectorArg = None,
    limit: LimitArg = None,
    as_json: JsonArg = False,
) -> int:
    """Move messages from one queue to another, in order.

    Messages that a consumer holds stay. The broker moves them if it can; otherwise they are received and sent in
    transactions of 100, so that none is lost, and get new message ids. To move between brokers, pipe `receive` into
    `send`.

    Examples:

      jmsbridge move orders orders.eu --selector "region = 'eu'"

      jmsbridge move DLQ orders --limit 10 --json
    """
    here, there = queue_named(source), queue_named(to)
    if here == there:
        raise ConfigurationError("source and target are the same queue")
    tally = Tally()

    def report(whole: bool) -> None:
        if as_json:
            print_json({"source": str(here.address), "target": str(there.address), "moved": tally.count})
        else:
            note(f"{'' if whole else 'at least '}{tally.count} moved from {here.address} to {there.address}")

    with (
        broker.connect() as connection,
        reporting(report),
        counting("moved", total=limit) as tally.show,
    ):
        _move(connection, here, there, selector, limit, tally)
    return OK


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
) -> int:
    """Receive messages and send each to the result of ``readdress``, in transactions; returns how many.

    Ends when no message is available; JMSError if an emulated selector has not seen all by then. Whatever stops it,
    each message is in exactly one of the queues. Priority, delivery mode and time to live are kept.
    """
    session = connection.create_session(True)
    connection.start()
    consumer = session.create_consumer(source, selector)
    producer = session.create_producer(None)
    count = batch = 0
    while limit is None or count + batch < limit:
        message = consumer.receive(timeout=_PATIENCE) if not batch else consumer.receive_no_wait()
        if message is not None:
            left = message.jms_expiration / 1000 - time.time() if message.jms_expiration else 0.0
            producer.send(
                readdress(message),
                message,
                delivery_mode=message.jms_delivery_mode,
                priority=message.jms_priority,
                time_to_live=max(left, 0.001) if message.jms_expiration else 0.0,
            )
            batch += 1
        if batch == _TRANSACTION or (message is None and batch):
            session.commit()
            count, batch = count + batch, 0
            show(count)
        elif message is None:
            break
    if batch:
        session.commit()
        count += batch
        show(count)
    if count != limit:
        check_whole(consumer, source)
    session.close()
    return count
