"""``jmsbridge backends``: what is installed, and what each can do."""

import json
import sys
from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from jmsbridge.cli.running import OK
from jmsbridge.config.backends import EXTRAS, install_hint
from jmsbridge.core import plan
from jmsbridge.spi import registry
from jmsbridge.spi.native import Native

__all__ = ["Row", "backends", "capabilities", "capability_table"]

_STYLES = {"native": "green", "emulated": "yellow", "refused": "red"}


class Row(msgspec.Struct, frozen=True):
    """One feature: what it is called, how it is had, and at which price."""

    name: str
    text: str
    outcome: str
    price: str


def capabilities(native: Native, emulation: str | Mapping[str, str] = "default") -> list[Row]:
    """Every feature as the plan of production decides it."""
    decided = plan.resolve(native, emulation)
    rows = []
    for feature in plan.TABLE:
        outcome = decided.outcome(feature.native)
        price = "" if outcome == "native" else "; ".join(filter(None, (feature.emulation, feature.price)))
        rows.append(Row(feature.name, feature.text, outcome, price))
    return rows


def capability_table(rows: list[Row], title: str) -> Table:
    """The features as a table for a terminal."""
    table = Table(title=title, title_justify="left")
    for heading in ("feature", "option name", "", "price"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.text, row.name, f"[{_STYLES[row.outcome]}]{row.outcome}[/]", row.price)
    return table


def backends(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> int:
    """Show the backends that are installed and what each of them can do.

    "native" is the broker's own doing, "emulated" the client's at the price that is named, "refused" raises
    UnsupportedFeature. It is the most that the family of brokers offers; `doctor` asks one broker.

    Examples:

      jmsbridge backends

      jmsbridge backends --json | jq 'keys'
    """
    found: dict[str, list[Row]] = {}
    missing: dict[str, str] = {}
    for scheme in registry.names():
        try:
            found[scheme] = capabilities(registry.load(scheme).native)
        except ImportError:
            missing[scheme] = install_hint(scheme)
    for scheme in EXTRAS:
        if scheme not in found:
            missing.setdefault(scheme, install_hint(scheme))
    if as_json:
        document = {scheme: {row.name: row.outcome for row in rows} for scheme, rows in found.items()}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return OK
    _print(found, missing)
    return OK


def _print(found: dict[str, list[Row]], missing: dict[str, str]) -> None:
    console = Console(file=sys.stdout)
    for scheme, rows in found.items():
        console.print(capability_table(rows, f"{scheme}:"))
    if missing:
        table = Table(title="not installed", title_justify="left")
        table.add_column("scheme")
        table.add_column("remedy")
        for scheme, remedy in missing.items():
            table.add_row(scheme, remedy.replace("[", "\\["))
        console.print(table)
