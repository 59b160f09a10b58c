"""``jmsbridge backends``: the installed backends and their capabilities."""

from collections.abc import Iterable
from typing import Annotated

import typer

from jmsbridge.cli.printing import print_json
from jmsbridge.cli.running import OK
from jmsbridge.cli.tables import print_rows
from jmsbridge.config.backends import EXTRAS, install_hint
from jmsbridge.core.plan import Capability, Plan
from jmsbridge.spi import OtherVersion, registry

__all__ = ["backends", "print_capabilities"]

_STYLES = {"emulated": "yellow", "refused": "red"}


def print_capabilities(rows: Iterable[Capability], title: str, lead: str) -> None:
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
    found: dict[str, dict[str, Capability]] = {}
    missing: dict[str, str] = {}
    for scheme in registry.names():
        try:
            found[scheme] = Plan(registry.load(scheme).native).capabilities()
        except OtherVersion as error:
            missing[scheme] = str(error)
        except ImportError:
            missing[scheme] = install_hint(scheme)
    for scheme in EXTRAS:
        if scheme not in found:
            missing.setdefault(scheme, install_hint(scheme))
    if as_json:
        print_json(
            {scheme: {name: row.outcome for name, row in rows.items()} for scheme, rows in found.items()}, indent=2
        )
        return OK
    _print(found, missing)
    return OK


def _print(found: dict[str, dict[str, Capability]], missing: dict[str, str]) -> None:
    for scheme, rows in found.items():
        print_capabilities(rows.values(), f"{scheme}:", scheme)
    if missing:
        print_rows(("scheme", "remedy"), list(missing.items()), title="not installed", lead="not installed")
