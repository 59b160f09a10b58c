"""``jmsbridge import``: Java configuration to a profile."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jmsbridge.cli.running import OK, note
from jmsbridge.config.profiles import CONFIG_NAME
from jmsbridge.config.writing import profile_text, write_profile
from jmsbridge.errors import ConfigurationError

__all__ = ["import_configuration"]

_LARGEST = 1 << 20
_KINDS = {".properties": "properties", ".yml": "yaml", ".yaml": "yaml"}


class _Client(StrEnum):
    """Whose configuration it is."""

    QPID = "qpid"
    CLASSIC = "classic"
    ARTEMIS = "artemis"
    RABBITMQ = "rabbitmq"
    PULSAR = "pulsar"


class _Protocol(StrEnum):
    """How to reach ActiveMQ."""

    AMQP = "amqp"
    STOMP = "stomp"


def import_configuration(  # size: one parameter per option of the command line
    source: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="jndi.properties, application.properties or .yml, or a URL.")
    ],
    write: Annotated[bool, typer.Option("--write", help=f"Put the profile into {CONFIG_NAME}.")] = False,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="The profile's name. Default: the file's.")
    ] = None,
    config_file: Annotated[Path, typer.Option("--file", metavar="PATH", help="Where --write puts it.")] = Path(
        CONFIG_NAME
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a profile of that name.")] = False,
    client: Annotated[
        _Client | None, typer.Option("--client", help="Whose configuration it is, where it can be read in two ways.")
    ] = None,
    factory: Annotated[
        str | None, typer.Option("--factory", metavar="NAME", help="Which connection factory of a JNDI file.")
    ] = None,
    spring_profile: Annotated[
        str | None, typer.Option("--spring-profile", metavar="NAME", help="Which Spring profile of the file.")
    ] = None,
    protocol: Annotated[_Protocol, typer.Option("--protocol", help="How to reach ActiveMQ.")] = _Protocol.AMQP,
    as_json: Annotated[bool, typer.Option("--json", help="Print profile and notes as JSON.")] = False,
) -> int:
    """Turn the configuration of a Java client into a profile, and list what had no equivalent.

    Reads files and URLs of Qpid JMS, ActiveMQ Classic and Artemis, RabbitMQ's JMS client and Starlight for JMS. The
    profile goes to standard output, what is to be said about it to standard error. A password is never written: the
    profile refers to an environment variable.

    Examples:

      jmsbridge import src/main/resources/jndi.properties

      jmsbridge import application.yml --spring-profile prod --write --profile orders

      jmsbridge import 'failover:(tcp://a:61616,tcp://b:61616)?jms.prefetchPolicy.all=100'
    """
    from jmsbridge.config.java import CLIENTS, import_text  # here, since the tables are for this command alone

    text, kind, name = _source(source)
    name = profile or name
    imported = import_text(
        text,
        kind,
        client=None if client is None else client.value,
        factory=factory,
        spring_profile=spring_profile,
        name=name,
        prefer=protocol.value,
    )
    if as_json:
        notes = [{"name": each.name, "kind": each.kind, "reason": each.reason} for each in imported.notes]
        document = {"client": imported.client, "name": name, "profile": imported.profile, "notes": notes}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    elif not write:
        sys.stdout.write(profile_text(name, imported.profile))
    note(f"read as the configuration of {CLIENTS[imported.client]}")
    for each in () if as_json else imported.notes:
        note(f"{_TITLES[each.kind]}: {each.name}: {each.reason}")
    if write:
        write_profile(config_file, name, imported.profile, force=force)
        note(f"profile {name!r} is in {config_file}")
    return OK


_TITLES = {
    "dropped": "no equivalent",
    "changed": "not quite the same",
    "secret": "secret",
    "assumed": "please check",
}


def _source(source: str) -> tuple[str, str, str]:
    """The text, its kind, and the name that a profile from it gets."""
    path = Path(source)
    if path.suffix.lower() in _KINDS or path.is_file():
        kind = _KINDS.get(path.suffix.lower())
        if kind is None:
            raise ConfigurationError(f"{source!r} is no .properties, .yml or .yaml file")
        return _read(path), kind, "".join(letter if letter.isalnum() else "-" for letter in path.stem)
    if ":" not in source:
        raise ConfigurationError(f"{source!r} is neither a file nor a URL")
    return source, "url", "imported"


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise ConfigurationError(f"{str(path)!r} is too large for a configuration file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # what Java took properties files for until version 8
