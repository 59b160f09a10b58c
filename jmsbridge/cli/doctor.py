"""``jmsbridge doctor``: where a target leads, with which settings, and whether it works."""

import sys
import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jmsbridge import Connection, TextMessage
from jmsbridge.cli.backends import capabilities, capability_table
from jmsbridge.cli.running import ERROR, OK
from jmsbridge.cli.target import OptionsArg, PasswordArg, UserArg, connect, overrides
from jmsbridge.config import Target, config_files, resolve
from jmsbridge.errors import JMSError
from jmsbridge.spi import registry
from jmsbridge.spi.backend import Channel, Subscription
from jmsbridge.spi.errors import BackendError
from jmsbridge.spi.native import Native

__all__ = ["doctor"]

_PATIENCE = 10.0


def doctor(
    target: Annotated[
        str | None, typer.Argument(metavar="[URL|PROFILE]", help="Default: $JMSBRIDGE_URL, else 'embedded:'.")
    ] = None,
    user: UserArg = None,
    password: PasswordArg = None,
    options: OptionsArg = None,
) -> int:
    """Show where a target leads, every setting with its origin, and try the broker.

    Ends with 0 when a message went there and back, with 1 when not, with 2 when the target is wrong. Secrets are
    masked.

    Examples:

      jmsbridge doctor

      jmsbridge doctor orders

      jmsbridge doctor amqps://broker-a,amqps://broker-b -o prefetch=10
    """
    console = Console(file=sys.stdout, highlight=False)
    given = overrides(user, password, options)
    resolved = resolve(target, given)
    _settings(console, resolved)
    native = _probe(console, resolved)
    if native is None:
        return ERROR
    console.print(capability_table(capabilities(native, resolved.options.emulation), "what this broker offers"))
    try:
        with connect(target, given) as connection:
            _there_and_back(console, connection)
    except JMSError as error:
        _say(console, False, f"message there and back: {error}")
        return ERROR
    return OK


def _settings(console: Console, resolved: Target) -> None:
    files = ", ".join(map(str, config_files())) or "none"
    where = ", ".join(map(str, resolved.endpoints))
    console.print(f"configuration files: {files}", markup=False, soft_wrap=True)
    console.print(f"target: {where} ({resolved.origins['target']})", markup=False, soft_wrap=True)
    table = Table(title="settings", title_justify="left")
    for heading in ("option", "value", "from"):
        table.add_column(heading)
    for name, (value, origin) in resolved.settings().items():
        table.add_row(name, str(value).replace("[", "\\["), origin.replace("[", "\\["), style=_style(origin))
    console.print(table)


def _style(origin: str) -> str:
    return "dim" if origin == "default" else ""


class _Silent:
    """``LinkEvents`` of a link that is only looked at."""

    def lost(self, error: BackendError) -> None:
        pass

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        pass

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        pass

    def throttled(self, active: bool) -> None:
        pass


def _probe(console: Console, resolved: Target) -> Native | None:
    """Try every endpoint; what the first one that answers offers."""
    native: Native | None = None
    backend = registry.load(resolved.scheme)
    for endpoint in resolved.endpoints:
        started = time.perf_counter()
        try:
            link = backend.open(endpoint, resolved.backend_options, _Silent())
        except BackendError as error:
            _say(console, False, f"{endpoint}: {error}")
            continue
        _say(console, True, f"{endpoint}: {link.broker}, connected in {_milliseconds(started)}")
        native = link.native if native is None else native
        link.close()
    return native


def _there_and_back(console: Console, connection: Connection) -> None:
    facts = connection.meta_data
    _say(console, True, f"JMS {facts.jms_version} by {facts.jms_provider_name} {facts.provider_version}")
    connection.start()
    session = connection.create_session()
    queue = session.create_temporary_queue()
    consumer = session.create_consumer(queue)
    started = time.perf_counter()
    sent = session.create_text_message("jmsbridge doctor ✓")
    sent.set_int_property("number", 42)
    session.create_producer(queue).send(sent)
    received: Any = consumer.receive(timeout=_PATIENCE)
    elapsed = _milliseconds(started)
    whole = isinstance(received, TextMessage) and received.text == sent.text
    if not whole or received.get_int_property("number") != 42:
        raise JMSError(f"nothing came within {_PATIENCE:.0f} s" if received is None else "it came back changed")
    consumer.close()
    queue.delete()
    _say(console, True, f"a message went to a temporary queue and back in {elapsed}")


def _say(console: Console, good: bool, text: str) -> None:
    console.print("[green]✓[/]" if good else "[red]✗[/]", end=" ")
    console.print(text, markup=False, soft_wrap=True)


def _milliseconds(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.1f} ms"
