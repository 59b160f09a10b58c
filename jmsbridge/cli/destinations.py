"""``jmsbridge list | create | remove | purge``: the broker's destinations."""

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec
import typer

from jmsbridge.administration import Administration, DestinationInfo
from jmsbridge.cli.asking import YesArg, confirmed
from jmsbridge.cli.printing import counted, print_json
from jmsbridge.cli.progress import working
from jmsbridge.cli.running import OK, note, reporting
from jmsbridge.cli.tables import print_rows
from jmsbridge.cli.target import Broker, JsonArg, SelectorArg, queue_named
from jmsbridge.documents import destination_named
from jmsbridge.spi import Address

__all__ = ["create", "list_destinations", "purge", "remove"]

_Names = Annotated[list[str], typer.Argument(metavar="DESTINATION...", help="queue:NAME, topic:NAME or NAME.")]


def list_destinations(
    broker: Broker,
    pattern: Annotated[
        str | None, typer.Argument(metavar="[PATTERN]", help="Only names that match, such as 'queue:order*'.")
    ] = None,
    as_json: JsonArg = False,
) -> int:
    """List queues, topics and subscriptions with depth, consumers and oldest message.

    The depth includes delayed messages and those that a consumer holds. In a pipe, each line has these fields,
    separated by tabs: destination, depth, consumers, oldest (ISO 8601, or -), subscription (client id/name, or -).

    Examples:

      jmsbridge list

      jmsbridge list 'queue:order*' --json -t embedded:orders.db
    """
    with broker.connect() as connection:
        listed = [info for info in connection.admin.list() if _matches(info, pattern)]
    if as_json:
        for info in listed:
            print_json({**msgspec.structs.asdict(info), "destination": str(info.address)})
    else:
        rows = [
            (str(info.address), info.depth, info.consumers, _time(info.oldest), _subscription(info)) for info in listed
        ]
        print_rows(("destination", "depth", "consumers", "oldest", "subscription"), rows)
    return OK


def _matches(info: DestinationInfo, pattern: str | None) -> bool:
    return pattern is None or fnmatchcase(str(info.address), pattern) or fnmatchcase(info.address.name, pattern)


def _time(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "-"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _subscription(info: DestinationInfo) -> str:
    if info.subscription is None:
        return "-"
    return f"{info.client_id}/{info.subscription}" if info.client_id else info.subscription


def create(broker: Broker, names: _Names) -> int:
    """Create queues and topics; those that exist are not changed.

    Examples:

      jmsbridge create orders topic:news -t embedded:orders.db
    """
    addresses = [destination_named(name).address for name in names]
    with broker.connect() as connection:
        admin = connection.admin
        for address in addresses:
            admin.create(address)
            note(f"{address} exists")
    return OK


def remove(broker: Broker, names: _Names, yes: Annotated[bool, YesArg] = False) -> int:
    """Remove queues and topics with all their messages, unless they have consumers.

    Examples:

      jmsbridge remove orders --yes -t embedded:orders.db
    """
    addresses = [destination_named(name).address for name in names]
    with broker.connect() as connection:
        admin = connection.admin
        for address in addresses:
            if confirmed(f"Remove {address} with its {counted(admin.depth(address), 'message')}?", yes):
                with working(f"removing {address}"):
                    admin.remove(address)
                note(f"{address} removed")
    return OK


def purge(
    broker: Broker,
    names: _Names,
    selector: SelectorArg = None,
    yes: Annotated[bool, YesArg] = False,
    as_json: JsonArg = False,
) -> int:
    """Delete the messages of queues, except those that a consumer holds.

    Examples:

      jmsbridge purge orders --selector "JMSPriority < 3"

      jmsbridge purge DLQ --yes --json
    """
    addresses = [queue_named(name).address for name in names]
    with broker.connect() as connection:
        admin = connection.admin
        for address in addresses:
            which = "the matching ones of " if selector else ""
            if confirmed(f"Delete {which}the {counted(admin.depth(address), 'message')} of {address}?", yes):
                count = _purge(admin, address, selector)
                if as_json:
                    print_json({"destination": str(address), "purged": count})
                else:
                    note(f"{count} deleted from {address}")
    return OK


def _purge(admin: Administration, address: Address, selector: str | None) -> int:
    def report(whole: bool) -> None:
        note(f"{counted(admin.depth(address), 'message')} left in {address}")

    with reporting(report, always=False), working(f"deleting from {address}"):
        return admin.purge(address, selector)
