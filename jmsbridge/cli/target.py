"""Common arguments of the commands: the target, its options, and names of destinations."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

import jmsbridge
from jmsbridge import Connection, Queue
from jmsbridge.config import Target, profile_names, resolve, to_seconds
from jmsbridge.config.layers import nested, option_path
from jmsbridge.documents import destination_named
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import registry

__all__ = [
    "Broker",
    "JsonArg",
    "LimitArg",
    "PositionalTarget",
    "SelectorArg",
    "complete_target",
    "queue_named",
    "seconds",
    "warn_if_fleeting",
    "warn_if_private",
    "with_broker",
]


def complete_target(incomplete: str) -> list[str]:
    """Shell completions for a target: profiles, then schemes."""
    try:
        names = profile_names()
    except ConfigurationError:
        names = []  # an invalid file is reported when the command runs
    schemes = ["embedded:" if name == "embedded" else f"{name}://" for name in registry.names()]
    return [name for name in (*names, *schemes) if name.startswith(incomplete)]


PositionalTarget = Annotated[
    str | None,
    typer.Argument(metavar="[URL|PROFILE]", help="The same as --target.", autocompletion=complete_target),
]
SelectorArg = Annotated[str | None, typer.Option("--selector", "-s", help="Only messages that match.")]
LimitArg = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most this many.")]
JsonArg = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]


class Broker(msgspec.Struct, frozen=True):
    """The broker of a command, from its command line; ``given`` are the options for ``resolve`` and ``connect``."""

    target: str | None
    given: dict[str, Any]

    def at(self, positional: str | None) -> "Broker":
        """The broker of a command whose target may also be given as an argument."""
        if positional is None:
            return self
        if self.target is not None and positional != self.target:
            raise ConfigurationError("the target is given twice: as an argument, and with --target")
        return Broker(positional, self.given)

    def resolve(self) -> Target:
        """The target with its options; does not connect."""
        return resolve(self.target, self.given)

    def connect(self) -> Connection:
        """A connection, not started."""
        return jmsbridge.connect(self.target, **self.given)


def _broker(
    named_target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="URL|PROFILE",
            help="Where to connect: a URL, a comma-separated failover list, or a profile of jmsbridge.toml. "
            "Default: $JMSBRIDGE_URL, else 'embedded:'.",
            show_default=False,
            autocompletion=complete_target,
        ),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="User name.", show_default=False)] = None,
    password: Annotated[
        str | None,
        typer.Option(
            envvar="JMSBRIDGE_PASSWORD",
            help="Password; safer in the environment variable or a profile.",
            show_envvar=True,
            show_default=False,
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Set an option of the connection; repeatable."),
    ] = None,
) -> Broker:
    return Broker(named_target, {"user": user, "password": password, **_overrides(options)})


_BROKER_OPTIONS = inspect.signature(_broker).parameters


def with_broker(command: Callable[..., int]) -> Callable[..., int]:
    """The command as Typer registers it: the options of ``_broker`` instead of the parameter ``broker``."""
    signature = inspect.signature(command)
    if "broker" not in signature.parameters:
        return command

    @functools.wraps(command)
    def run(**given: Any) -> int:
        return command(_broker(**{name: given.pop(name) for name in _BROKER_OPTIONS}), **given)

    own = [parameter for name, parameter in signature.parameters.items() if name != "broker"]
    run.__signature__ = signature.replace(parameters=[*own, *_BROKER_OPTIONS.values()])  # type: ignore[attr-defined]
    return run


def _overrides(options: list[str] | None) -> dict[str, Any]:
    """The options of ``--option``; ``-`` in names becomes ``_``."""
    given: list[tuple[str, str]] = []
    for option in options or []:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise ConfigurationError(f"--option {_name(option)!r} must have the form NAME=VALUE")
        path = option_path(name)
        names = (
            {0, len(path) - 1} if len(path) > 2 else set(range(len(path)))
        )  # the middle is the name of a destination
        given.append((".".join(part.replace("-", "_") if at in names else part for at, part in enumerate(path)), value))
    return nested(given)


def _name(option: str) -> str:
    """The name to show for an option without "=": if it may be a value, it is masked."""
    known = len(option) - len(option.lstrip("abcdefghijklmnopqrstuvwxyz_-."))
    return option[:known] + ("…" if known < len(option) else "")


def queue_named(text: str, refusal: str = "{} is a topic; only queues hold messages") -> Queue:
    """A queue from its text; a topic is refused."""
    where = destination_named(text)
    if not isinstance(where, Queue):
        raise ConfigurationError(refusal.format(where))
    return where


def seconds(text: str, option: str) -> float:
    """A duration from the command line."""
    try:
        return to_seconds(text)
    except ValueError as error:
        raise ConfigurationError(f"{option}: {error}") from None


def warn_if_private(resolved: Target) -> str | None:
    """A warning if messages are lost when this process ends, else None."""
    if resolved.scheme == "embedded" and not resolved.endpoints[0].path:
        return "the embedded broker lives in this process only: other commands do not see its messages"
    return None


def warn_if_fleeting(resolved: Target) -> str | None:
    """A warning if NON_PERSISTENT messages may be lost when this process ends, else None."""
    if resolved.scheme == "embedded" and resolved.endpoints[0].path:
        path = resolved.endpoints[0].path
        return f"NON_PERSISTENT messages are dropped when the last process that has {path} open closes it"
    return None
