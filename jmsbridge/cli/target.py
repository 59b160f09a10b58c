"""Common arguments of the commands: the target, its options, and names of destinations."""

from typing import Annotated, Any

import typer

import jmsbridge
from jmsbridge import Connection, Destination
from jmsbridge.config import Target, mask_url, profile_names, to_seconds
from jmsbridge.config.backends import NETWORKED
from jmsbridge.config.layers import nested, option_path
from jmsbridge.destinations import destination_of
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import Address, registry

__all__ = [
    "OptionsArg",
    "PasswordArg",
    "PositionalTarget",
    "TargetArg",
    "UserArg",
    "complete_target",
    "connect",
    "destination",
    "one_target",
    "overrides",
    "seconds",
    "warn_if_fleeting",
    "warn_if_private",
]


def complete_target(incomplete: str) -> list[str]:
    """Shell completions for a target: profiles, then schemes."""
    try:
        names = profile_names()
    except ConfigurationError:
        names = []  # an invalid file is reported when the command runs
    schemes = ["embedded:" if name == "embedded" else f"{name}://" for name in registry.names()]
    return [name for name in (*names, *schemes) if name.startswith(incomplete)]


TargetArg = Annotated[
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
]
PositionalTarget = Annotated[
    str | None,
    typer.Argument(metavar="[URL|PROFILE]", help="The same as --target.", autocompletion=complete_target),
]
UserArg = Annotated[str | None, typer.Option("--user", "-u", help="User name.", show_default=False)]
PasswordArg = Annotated[
    str | None,
    typer.Option(
        envvar="JMSBRIDGE_PASSWORD",
        help="Password; safer in the environment variable or a profile.",
        show_envvar=True,
        show_default=False,
    ),
]
OptionsArg = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Set an option of the connection; repeatable."),
]

_KINDS = ("queue", "topic", "temp-queue", "temp-topic")


def one_target(positional: str | None, option: str | None) -> str | None:
    """The target of a command that takes it as an argument or an option."""
    if positional is not None and option is not None and positional != option:
        raise ConfigurationError("the target is given twice: as an argument, and with --target")
    return option if positional is None else positional


def overrides(user: str | None, password: str | None, options: list[str] | None) -> dict[str, Any]:
    """The options of the command line, for ``resolve`` and ``connect``; ``-`` in names becomes ``_``."""
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
    return {"user": user, "password": password, **nested(given)}


def _name(option: str) -> str:
    """The name to show for an option without "=": if it may be a value, it is masked."""
    known = len(option) - len(option.lstrip("abcdefghijklmnopqrstuvwxyz_-."))
    return option[:known] + ("…" if known < len(option) else "")


def connect(target: str | None, given: dict[str, Any]) -> Connection:
    """A connection, not started."""
    return jmsbridge.connect(target, **given)


def destination(text: str) -> Destination:
    """A destination from its text: ``topic:news``, ``queue:orders``, or just ``orders`` for a queue."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in _KINDS:
        _refuse_url(text)
        kind, name = "queue", text
    if not name:
        raise ConfigurationError("a destination needs a name, such as 'orders' or 'topic:news'")
    return destination_of(Address(name, kind.endswith("topic"), kind.startswith("temp-")))  # as `list` shows it


def _refuse_url(text: str) -> None:
    """Refuse a target in the place of a destination: it would become a queue name, its password included."""
    scheme, colon, rest = text.partition(":")
    known = colon and scheme.lower() in {*registry.names(), *NETWORKED}
    if (known and (rest.startswith("/") or "@" in rest)) or (text.startswith("//") and mask_url(text) != text):
        raise ConfigurationError(
            f"{mask_url(text)!r} is a target, not a destination: give it with --target (-t); "
            "for a queue of that name write 'queue:NAME'"
        )


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
