"""``jmsbridge import``: turns Java configuration into a profile."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from jmsbridge.cli.printing import print_json
from jmsbridge.cli.running import OK, USAGE, complain, note
from jmsbridge.config.backends import missing_backend
from jmsbridge.config.profiles import CONFIG_NAME
from jmsbridge.config.writing import profile_text, write_profile
from jmsbridge.errors import ConfigurationError

__all__ = ["import_configuration"]


class _Client(StrEnum):
    """The Java client that the configuration is for."""

    QPID = "qpid"
    CLASSIC = "classic"
    ARTEMIS = "artemis"
    RABBITMQ = "rabbitmq"
    PULSAR = "pulsar"


class _Kind(StrEnum):
    """The kind of a text."""

    URL = "url"
    PROPERTIES = "properties"
    YAML = "yaml"


class _Protocol(StrEnum):
    """The protocol for ActiveMQ."""

    AMQP = "amqp"
    STOMP = "stomp"


def import_configuration(  # size: one parameter per option of the command line
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|URL", help="jndi.properties, application.properties or .yml, a URL, or - for standard input."
        ),
    ],
    write: Annotated[bool, typer.Option("--write", help=f"Write the profile into {CONFIG_NAME}.")] = False,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="The profile's name. Default: the file's.")
    ] = None,
    config_file: Annotated[Path, typer.Option("--file", metavar="PATH", help="The file for --write.")] = Path(
        CONFIG_NAME
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a profile of that name.")] = False,
    client: Annotated[
        _Client | None, typer.Option("--client", help="The client it is for, if that is ambiguous.")
    ] = None,
    kind: Annotated[
        _Kind | None, typer.Option("--kind", help="The kind of input, if its name or text does not show it.")
    ] = None,
    factory: Annotated[
        str | None, typer.Option("--factory", metavar="NAME", help="Which connection factory of a JNDI file.")
    ] = None,
    spring_profile: Annotated[
        str | None, typer.Option("--spring-profile", metavar="NAME", help="Which Spring profile of the file.")
    ] = None,
    protocol: Annotated[_Protocol, typer.Option("--protocol", help="The protocol for ActiveMQ.")] = _Protocol.AMQP,
    as_json: Annotated[bool, typer.Option("--json", help="Print profile and notes as JSON.")] = False,
) -> int:
    """Turn the configuration of a Java client into a profile, and list settings without an equivalent.

    Reads files and URLs of Qpid JMS, ActiveMQ Classic and Artemis, RabbitMQ's JMS client and Starlight for JMS. The
    profile goes to standard output, notes about it to standard error. Passwords are never written: the profile refers
    to an environment variable. Exits with 2 if the profile cannot be used, since this version or installation has no
    backend for its scheme.

    Examples:

      jmsbridge import src/main/resources/jndi.properties

      jmsbridge import application.yml --spring-profile prod --write --profile orders

      jmsbridge import 'failover:(tcp://a:61616,tcp://b:61616)?jms.prefetchPolicy.all=100'

      unzip -p shop.jar BOOT-INF/classes/application.yml | jmsbridge import - --client rabbitmq
    """
    from jmsbridge.config.java import CLIENTS, import_text  # here, since only this command needs the tables

    text, found_kind, name = _source(source)
    name = profile or name
    imported = import_text(
        text,
        found_kind if kind is None else kind.value,
        client=None if client is None else client.value,
        factory=factory,
        spring_profile=spring_profile,
        name=name,
        prefer=protocol.value,
    )
    if as_json:
        notes = [{"name": each.name, "kind": each.kind, "reason": each.reason} for each in imported.notes]
        print_json({"client": imported.client, "name": name, "profile": imported.profile, "notes": notes}, indent=2)
    elif not write:
        sys.stdout.write(profile_text(name, imported.profile))
    note(f"read as the configuration of {CLIENTS[imported.client]}")
    for each in () if as_json else imported.notes:
        note(f"{_TITLES[each.kind]}: {each.name}: {each.reason}")
    if write:
        write_profile(config_file, name, imported.profile, force=force)
        note(f"profile {name!r} is written to {config_file}")
    return _usable(imported.profile)


def _usable(profile: dict[str, Any]) -> int:
    """The exit code: 0 if the profile can be used, else USAGE, with an error, as its scheme has no backend."""
    urls = profile["url"]
    scheme = (urls if isinstance(urls, str) else urls[0]).partition(":")[0]
    why = missing_backend(scheme)
    if why is None:
        return OK
    complain(f"the profile cannot be used yet: {why}")
    return USAGE


_TITLES = {
    "dropped": "no equivalent",
    "changed": "different here",
    "secret": "secret",
    "assumed": "please check",
    "unknown": "unknown",
}


def _source(source: str) -> tuple[str, str, str]:
    """The text, its kind, and the name for the profile."""
    from jmsbridge.config.java.files import LARGEST, decoded, kind_of, read_file

    if source == "-":
        text = decoded(sys.stdin.buffer.read(LARGEST + 1), "standard input")
        return text, kind_of(text), "imported"
    path = Path(source)
    if path.suffix.lower() in (".properties", ".yml", ".yaml") or path.is_file():
        return read_file(path)
    if ":" not in source:
        raise ConfigurationError(f"{source!r} is neither a file nor a URL")
    return source, "url", "imported"
