"""``jmsbridge backends``: the installed backends and their capabilities."""

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
    """One feature: its name, its option, whether it is native, emulated or refused, and the price."""

    name: str
    text: str
    outcome: str
    price: str


def capabilities(native: Native, emulation: str | Mapping[str, str] = "default") -> list[Row]:
    """Every feature, as decided by the plan that connections use."""
    decided = plan.resolve(native, emulation)
    rows = []
    for feature in FEATURES:
        outcome = decided.outcome(feature.native)
        price = "" if outcome == "native" else "; ".join(filter(None, (feature.emulation, feature.price)))
        rows.append(Row(feature.name, feature.text, outcome, price))
    return rows


def print_capabilities(rows: list[Row], title: str, lead: str) -> None:
    """Print the features, one per row."""
    cells = [(row.text, row.name, row.outcome, row.price) for row in rows]
    print_rows(
        ("feature", "option name", "support", "price"),
        cells,
        title=title,
        lead=lead,
        style=lambda row: _STYLES.get(str(row[2]), ""),
    )


def backends(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> int:
    """Show the installed backends and what each of them supports.

    "native" is done by the broker, "emulated" by the client at the given price, "refused" raises UnsupportedFeature. A
    broker may offer less than its backend supports; `doctor` asks one broker. In a pipe, each line has these fields,
    separated by tabs: scheme, feature, option name, support, price.

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
