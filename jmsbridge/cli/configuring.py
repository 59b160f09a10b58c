"""``jmsbridge config show | path | check``: the effective configuration, and whether it is valid."""

from typing import Annotated, Any

import typer

from jmsbridge.cli.commandline import help_of
from jmsbridge.cli.printing import print_json, shown
from jmsbridge.cli.running import OK, USAGE, complain, guarded
from jmsbridge.cli.tables import print_rows
from jmsbridge.cli.target import Broker, PositionalTarget, with_broker
from jmsbridge.config import Target, config_files, profile_names, resolve
from jmsbridge.config.profiles import candidate_files
from jmsbridge.errors import ConfigurationError

__all__ = ["check", "config", "path", "print_settings", "settings_document", "show"]

config = typer.Typer(no_args_is_help=True, help="Show the effective configuration, find its files, and check it.")

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_settings(resolved: Target, lead: str | None = None) -> None:
    """Print every option with its value and origin; secrets are masked."""
    rows = [(name, str(value), origin) for name, (value, origin) in resolved.settings().items()]
    print_rows(
        ("option", "value", "from"),
        rows,
        title="settings",
        lead=lead,
        style=lambda row: "dim" if row[2] == "default" else "",
    )


def settings_document(resolved: Target) -> dict[str, Any]:
    """Every option with its value and origin, as a JSON document; secrets are masked."""
    return {
        "target": [str(endpoint) for endpoint in resolved.endpoints],
        "target_from": resolved.origins["target"],
        "settings": {name: {"value": value, "from": origin} for name, (value, origin) in resolved.settings().items()},
    }


def show(
    broker: Broker,
    target: PositionalTarget = None,
    as_json: _Json = False,
) -> int:
    """Show every option of a target with its value and origin. Does not connect; secrets are masked.

    In a pipe, each line has these fields, separated by tabs: option, value, origin; the first line is the target.

    Examples:

      jmsbridge config show orders

      jmsbridge config show orders --json | jq .settings.prefetch
    """
    resolved = broker.at(target).resolve()
    if as_json:
        print_json(settings_document(resolved), indent=2)
        return OK
    where = ", ".join(map(str, resolved.endpoints))
    print(f"target\t{shown(where)}\t{shown(resolved.origins['target'])}")
    print_settings(resolved)
    return OK


def path(as_json: _Json = False) -> int:
    """Print where configuration files are searched for, in order, and which of them exist.

    Examples:

      jmsbridge config path
    """
    existing = config_files()
    found = [(str(each), each in existing) for each in candidate_files()]
    if as_json:
        print_json([{"path": name, "exists": there} for name, there in found], indent=2)
    else:
        for name, there in found:
            print(f"{shown(name)}\t{'exists' if there else 'missing'}")
    return OK


def check(as_json: _Json = False) -> int:
    """Check every profile: its options, its backend, its references to secrets. Exits with 2 if one is invalid.

    Examples:

      jmsbridge config check
    """
    problems: dict[str, str | None] = {}
    for name in profile_names():
        try:
            resolve(name)
        except ConfigurationError as error:
            problems[name] = str(error)
        else:
            problems[name] = None
    if as_json:
        document = [{"profile": name, "problem": problem} for name, problem in problems.items()]
        print_json(document, indent=2)
    else:
        for name, problem in problems.items():
            if problem is None:
                print(f"{shown(name)}\tgood")
            else:
                complain(problem)
    return USAGE if any(problems.values()) else OK


for _command in (show, path, check):
    config.command(help=help_of(_command))(guarded(with_broker(_command)))
