"""``jmsbridge backends``: what is installed, and what each can do."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer

from jmsbridge.cli.printing import print_json
from jmsbridge.cli.running import OK
from jmsbridge.cli.tables import print_rows
from jmsbridge.config.backends import EXTRAS, install_hint
from jmsbridge.config.features import FEATURES
from jmsbridge.core import plan
from jmsbridge.spi import registry
from jmsbridge.spi.native import Native

__all__ = ["Row", "backends", "capabilities", "print_capabilities"]

_STYLES = {"emulated": "yellow", "refused": "red"}


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
    for feature in FEATURES:
        outcome = decided.outcome(feature.native)
        price = "" if outcome == "native" else "; ".join(filter(None, (feature.emulation, feature.price)))
        rows.append(Row(feature.name, feature.text, outcome, price))
    return rows


def print_capabilities(rows: list[Row], title: str, lead: str) -> None:
    """The features, one a row."""
    cells = [(row.text, row.name, row.outcome, row.price) for row in rows]
    print_rows(
        ("feature", "option name", "how", "price"),
        cells,
        title=title,
        lead=lead,
        style=lambda row: _STYLES.get(str(row[2]), ""),
    )


def backends(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> int:
    """Show the backends that are installed and what each of them can do.

    "native" is the broker's own doing, "emulated" the client's at the price that is named, "refused" raises
    UnsupportedFeature. It is the most that the family of brokers offers; `doctor` asks one broker. In a pipe a line has
    these fields, separated by tabs: scheme, feature, its option, how it is had, price.

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
        print_json({scheme: {row.name: row.outcome for row in rows} for scheme, rows in found.items()}, indent=2)
        return OK
    _print(found, missing)
    return OK


def _print(found: dict[str, list[Row]], missing: dict[str, str]) -> None:
    for scheme, rows in found.items():
        print_capabilities(rows, f"{scheme}:", scheme)
    if missing:
        print_rows(("scheme", "remedy"), list(missing.items()), title="not installed", lead="not installed")
