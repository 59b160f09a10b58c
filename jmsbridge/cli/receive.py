"""``jmsbridge receive`` and ``jmsbridge browse``: print messages to standard output."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Message, MessageConsumer, Queue, QueueBrowser, Session, Topic
from jmsbridge.cli.output import Format, Writer
from jmsbridge.cli.printing import counted
from jmsbridge.cli.progress import counting
from jmsbridge.cli.running import EMPTY, OK, note, reporting
from jmsbridge.cli.target import Broker, queue_named, seconds
from jmsbridge.documents import destination_named
from jmsbridge.errors import ConfigurationError, JMSError

__all__ = ["Tally", "browse", "check_whole", "print_browsed", "pump", "receive"]

_BATCH = 100
_PATIENCE = 1.0

_Where = Annotated[str, typer.Argument(metavar="DESTINATION", help="queue:NAME, topic:NAME or NAME for a queue.")]
_Count = Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after this many.", show_default=False)]
_Selector = Annotated[str | None, typer.Option("--selector", "-s", help="Message selector.", show_default=False)]
_Form = Annotated[
    Format,
    typer.Option("--format", "-f", help="JSON lines, bodies as text, or bare bytes. auto: readable on a terminal."),
]
_FailIfEmpty = Annotated[bool, typer.Option("--fail-if-empty", help="Exit with 3 if there was no message.")]


def receive(  # size: one parameter per option of the command line
    broker: Broker,
    source: _Where,
    count: _Count = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Stop after this long without a message. Default: 1s; for a topic without --durable, never.",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-F", help="Continue until Ctrl-C.")] = False,
    selector: _Selector = None,
    durable: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use a durable subscription of a topic.", show_default=False)
    ] = None,
    shared: Annotated[
        str | None, typer.Option(metavar="NAME", help="Share a subscription of a topic.", show_default=False)
    ] = None,
    client_id: Annotated[str | None, typer.Option(help="The client identifier.", show_default=False)] = None,
    form: _Form = Format.AUTO,
    fail_if_empty: _FailIfEmpty = False,
) -> int:
    """Receive messages and print them.

    From a topic it prints messages published from now on, until --count or Ctrl-C. A message is acknowledged only after
    its line was written and flushed: whatever stops the command, unprinted messages stay with the broker. Exits with 1
    if an emulated selector could not see all messages: raise its limit with the option emulation_limit.

    Examples:

      jmsbridge receive orders --count 10 --selector "JMSPriority > 5"

      jmsbridge receive topic:news --count 1

      jmsbridge receive topic:news --durable reader --client-id me --follow

      jmsbridge receive orders --format text | sort | uniq -c
    """
    if client_id is not None:
        broker.given["client_id"] = client_id
    writer = Writer(form)
    with broker.connect() as connection:
        session = connection.create_session(False, CLIENT_ACKNOWLEDGE)
        consumer = _consumer(session, source, selector, durable, shared, connection.client_id)
        wait = _wait(timeout, follow, lasting=isinstance(destination_named(source), Queue) or durable is not None)
        if wait is None and not follow:
            note("waiting for messages published from now on; stop with Ctrl-C")
        connection.start()
        tally = Tally()
        with reporting(lambda whole: note(f"{tally.count} received"), always=False):
            pump(consumer, writer, count, wait, tally)
        if tally.count != count:
            check_whole(consumer, source)
            _tell_missing(tally.count, count, wait)
    return EMPTY if fail_if_empty and not tally.count else OK


def _wait(timeout: str | None, follow: bool, *, lasting: bool) -> float | None:
    """How long to wait for a message; for ever on a topic that keeps no messages for this command."""
    if follow:
        return None
    if timeout is None:
        return _PATIENCE if lasting else None
    return seconds(timeout, "--timeout")


def _tell_missing(received: int, count: int | None, wait: float | None) -> None:
    """Say why the command ends with fewer messages than requested, or with none."""
    if wait is not None and (count is not None or not received):
        which = f"{received} of {counted(count or 0, 'message')}: no further one" if received else "no message"
        note(f"{which} within {wait:g} s (see --timeout)")


class Tally:
    """Keeps the last count reported by some work, even if it fails."""

    def __init__(self) -> None:
        self.count = 0
        self.show: Callable[[int], None] = lambda count: None

    def __call__(self, count: int) -> None:
        """Set the count."""
        self.count = count
        self.show(count)


def pump(consumer: MessageConsumer, writer: Writer, count: int | None, wait: float | None, tally: Tally) -> None:
    """Print messages until ``count``, or ``wait`` seconds without one.

    The session is in CLIENT_ACKNOWLEDGE: acknowledging the last message written includes all before it. On Ctrl-C the
    output is flushed but not acknowledged, since the next message may have been consumed and not written.
    """
    unsettled = 0
    last: Message | None = None
    with counting("received", quiet=sys.stdout.isatty(), waiting="waiting for messages") as tally.show:
        try:
            while count is None or tally.count < count:
                message = consumer.receive(timeout=wait) if last is None else consumer.receive_no_wait()
                if message is None and last is None:
                    break
                if message is not None:
                    writer.write(message)
                    tally(tally.count + 1)
                    unsettled, last = unsettled + 1, message
                if last is not None and (message is None or unsettled == _BATCH or tally.count == count):
                    writer.flush()
                    last.acknowledge()
                    unsettled, last = 0, None
        finally:
            writer.flush()


def _consumer(
    session: Session,
    source: str,
    selector: str | None,
    durable: str | None,
    shared: str | None,
    client_id: str | None,
) -> MessageConsumer:
    where = destination_named(source)
    if durable is None and shared is None:
        return session.create_consumer(where, selector)
    if not isinstance(where, Topic):
        raise ConfigurationError("--durable and --shared need a topic, such as topic:news")
    if shared is None:
        assert durable is not None
        if client_id is None:
            raise ConfigurationError(
                f"--durable {durable} needs --client-id NAME, or also --shared {durable} to share the subscription"
            )
        return session.create_durable_consumer(where, durable, selector)
    if durable is None:
        return session.create_shared_consumer(where, shared, selector)
    if durable != shared:
        raise ConfigurationError("a shared durable subscription has one name: give it to both --durable and --shared")
    return session.create_shared_durable_consumer(where, shared, selector)


def browse(
    broker: Broker,
    source: _Where,
    count: _Count = None,
    selector: _Selector = None,
    form: _Form = Format.AUTO,
    fail_if_empty: _FailIfEmpty = False,
) -> int:
    """Print the messages of a queue and leave them in it.

    `export` does the same into a file. Exits with 1 if an emulated browser could not show all messages: raise its limit
    with the option emulation_limit.

    Examples:

      jmsbridge browse orders

      jmsbridge browse orders --selector "JMSPriority = 9" --format json | jq .properties
    """
    where = queue_named(source, "only a queue can be browsed")
    writer = Writer(form)
    with broker.connect() as connection:
        seen = print_browsed(connection, where, selector, writer, count)
    if not seen:
        note(f"no {'matching ' if selector else ''}messages in {where.address}")
    return EMPTY if fail_if_empty and not seen else OK


def print_browsed(connection: Connection, where: Queue, selector: str | None, writer: Writer, count: int | None) -> int:
    """Print at most ``count`` messages of a queue; returns how many. JMSError if the browser left some out."""
    seen = 0
    session = connection.create_session()
    connection.start()
    with counting("browsed", quiet=sys.stdout.isatty()) as show:
        browser = session.create_browser(where, selector)
        for seen, message in enumerate(browser, 1):
            writer.write(message)
            show(seen)
            if seen == count:
                break
    writer.flush()
    if seen != count:
        check_whole(browser, where)
    session.close()
    return seen


def check_whole(seen: QueueBrowser | MessageConsumer, where: Queue | str) -> None:
    """JMSError if a browser or a selector has not seen all messages."""
    if seen.is_truncated:
        raise JMSError(
            f"incomplete: {where} holds more messages than the emulation for this broker reads; "
            "raise the limit with -o emulation_limit=N"
        )
