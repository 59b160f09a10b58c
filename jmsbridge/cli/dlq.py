"""``jmsbridge dlq list | show | return``: shows dead letters and their reasons, and sends them back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from jmsbridge import Connection, Destination, Message, Queue, QueueBrowser
from jmsbridge.cli.commandline import help_of
from jmsbridge.cli.moving import transfer
from jmsbridge.cli.output import Format, Writer
from jmsbridge.cli.printing import counted, print_json
from jmsbridge.cli.progress import counting
from jmsbridge.cli.receive import Tally, check_whole, print_browsed
from jmsbridge.cli.running import EMPTY, OK, guarded, note, reporting
from jmsbridge.cli.tables import print_rows
from jmsbridge.cli.target import Broker, JsonArg, LimitArg, SelectorArg, queue_named, with_broker
from jmsbridge.documents import destination_named, set_properties
from jmsbridge.errors import ConfigurationError, InvalidSelector, UnsupportedFeature
from jmsbridge.selectors import compile_selector
from jmsbridge.spi import DEAD_LETTER_NOTES, DEAD_LETTER_ORIGIN, DEAD_LETTER_QUEUE, DEAD_LETTER_REASON

__all__ = ["dlq"]

dlq = typer.Typer(
    no_args_is_help=True,
    help="Show the messages in the dead-letter queue and their reasons, and send them back to their origin.",
)

_Queue = Annotated[
    str | None, typer.Option("--queue", "-q", metavar="NAME", help="The dead-letter queue. Default: the broker's own.")
]
_Origin = Annotated[
    str | None, typer.Option("--origin", metavar="DESTINATION", help="Only messages from this destination.")
]


def _dead_letters(connection: Connection, name: str | None) -> Queue:
    if name is not None:
        return queue_named(name, "--queue must be a queue")
    try:
        queue = connection.admin.dead_letters
    except UnsupportedFeature:
        queue = None
    if queue is None:
        raise ConfigurationError("this broker does not report its dead-letter queue: give its name with --queue")
    return queue


def _selection(selector: str | None, origin: str | None, *more: str) -> str | None:
    if selector:
        compile_selector(
            selector
        )  # before it is put in parentheses, where an invalid one could become valid with another meaning
    parts = [*more, *([f"({selector})"] if selector else [])]
    if origin is not None:
        text = str(destination_named(origin).address).replace("'", "''")
        parts.append(f"{DEAD_LETTER_ORIGIN} = '{text}'")
    return " AND ".join(parts) or None


def _list(
    broker: Broker,
    queue: _Queue = None,
    as_json: JsonArg = False,
) -> int:
    """Count the dead letters by origin and reason.

    In a pipe, each line has these fields, separated by tabs: count, origin (or -), reason (or -).

    Examples:

      jmsbridge dlq list -t embedded:orders.db

      jmsbridge dlq list --queue ActiveMQ.DLQ --json
    """
    with broker.connect() as connection:
        where = _dead_letters(connection, queue)
        counts: dict[tuple[str | None, str | None], int] = {}
        with counting("browsed") as show:
            connection.start()
            browser = connection.create_session().create_browser(where)
            for number, message in enumerate(browser, 1):
                key = message.get_string_property(DEAD_LETTER_ORIGIN), message.get_string_property(DEAD_LETTER_REASON)
                counts[key] = counts.get(key, 0) + 1
                show(number)
        _print(where, counts, as_json)
        check_whole(browser, where)
    return OK


def _print(where: Queue, counts: dict[tuple[str | None, str | None], int], as_json: bool) -> None:
    rows = sorted(
        ((count, *key) for key, count in counts.items()), key=lambda row: (-row[0], row[1] or "", row[2] or "")
    )
    if as_json:
        for count, origin, reason in rows:
            print_json({"queue": str(where.address), "count": count, "origin": origin, "reason": reason})
    else:
        title = f"{where.address}: {counted(sum(counts.values()), 'message')}"
        cells = [(count, origin or "-", reason or "-") for count, origin, reason in rows]
        print_rows(("count", "origin", "reason"), cells, title=title)


def _show(
    broker: Broker,
    queue: _Queue = None,
    origin: _Origin = None,
    selector: SelectorArg = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after this many.")] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="As for `browse`.")] = Format.AUTO,
    as_json: JsonArg = False,
    fail_if_empty: Annotated[bool, typer.Option("--fail-if-empty", help="Exit with 3 if there was none.")] = False,
) -> int:
    """Print the dead letters and leave them in the queue.

    The properties of each message tell its origin and the reason.

    Examples:

      jmsbridge dlq show --origin orders -n 3

      jmsbridge dlq show --json | jq -r .properties.JMS_jmsbridge_dead_letter_reason
    """
    writer = Writer(Format.JSON if as_json else form)
    with broker.connect() as connection:
        where = _dead_letters(connection, queue)
        seen = print_browsed(connection, where, _selection(selector, origin), writer, count)
    if not seen:
        note(f"no {'matching ' if selector or origin else ''}messages in {where.address}")
    return EMPTY if fail_if_empty and not seen else OK


def _return(
    broker: Broker,
    queue: _Queue = None,
    origin: _Origin = None,
    selector: SelectorArg = None,
    limit: LimitArg = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="DESTINATION", help="Send them here instead of to their origin.")
    ] = None,
    as_json: JsonArg = False,
) -> int:
    """Send dead letters back to the queues that they came from.

    Uses transactions: whatever happens, a message is either still a dead letter or back. At most as many are returned
    as there were at the start, so that a message that fails again is not returned endlessly. A message from a durable
    subscription goes back to it if the broker keeps subscriptions as queues, like RabbitMQ. Elsewhere it stays, and so
    does a message of unknown origin, unless --to gives a destination.

    Examples:

      jmsbridge dlq return --origin orders

      jmsbridge dlq return --selector "customer = 'c-17'" --to orders.repair --limit 1
    """
    elsewhere = None if to is None else destination_named(to)
    with broker.connect() as connection:
        where = _dead_letters(connection, queue)
        if elsewhere == where:
            raise ConfigurationError("--to is the dead-letter queue itself")
        everything = _selection(selector, origin)
        at_home = f"({DEAD_LETTER_ORIGIN} LIKE 'queue:%' OR {DEAD_LETTER_QUEUE} IS NOT NULL)"
        known = _selection(selector, origin, at_home)
        chosen = known if elsewhere is None else everything
        tally = Tally()
        with _selecting(where):
            there, browser = _count(connection, where, chosen)
            stay = 0 if elsewhere is not None else _count(connection, where, everything)[0] - there
            bound = there if limit is None else min(there, limit)
            report = reporting(lambda whole: _report(tally.count, whole, stay, as_json))
            with report, counting("returned", total=bound) as tally.show:
                transfer(connection, where, chosen, bound, lambda each: _back(each, elsewhere), tally)
        if tally.count != limit:
            check_whole(browser, where)
    return OK


@contextmanager
def _selecting(where: Queue) -> Iterator[None]:
    """Tell what to do where the broker cannot select by origin, as over STOMP."""
    try:
        yield
    except InvalidSelector as error:
        if DEAD_LETTER_ORIGIN not in str(error):
            raise
        raise ConfigurationError(
            f"{error}; use `jmsbridge dlq return --to QUEUE` without --origin, or `jmsbridge move {where} QUEUE`"
        ) from None


def _count(connection: Connection, where: Queue, selector: str | None) -> tuple[int, QueueBrowser]:
    connection.start()
    session = connection.create_session()
    try:
        browser = session.create_browser(where, selector)
        return sum(1 for _ in browser), browser
    finally:
        session.close()


def _back(message: Message, elsewhere: Destination | None) -> Destination:
    """Where to send a message; removes its properties of a dead letter."""
    origin = message.get_string_property(DEAD_LETTER_ORIGIN)
    queue = message.get_string_property(DEAD_LETTER_QUEUE)
    kept: dict[str, Any] = {
        name: message.get_object_property(name) for name in message.property_names if name not in DEAD_LETTER_NOTES
    }
    message.clear_properties()
    set_properties(message, kept)
    return elsewhere or (destination_named(origin or "") if queue is None else Queue(queue))


def _report(returned: int, whole: bool, stay: int, as_json: bool) -> None:
    if as_json:
        print_json({"returned": returned, "without_origin": stay})
        return
    note(f"{'' if whole else 'at least '}{returned} returned")
    if stay:
        note(f"{stay} stayed, since they did not come from a queue or their origin is unknown: send them with --to")


for _name, _command in (("list", _list), ("show", _show), ("return", _return)):
    dlq.command(_name, help=help_of(_command))(guarded(with_broker(_command)))
