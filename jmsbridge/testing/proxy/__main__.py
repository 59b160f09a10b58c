"""Run a proxy by hand: ``python -m jmsbridge.testing.proxy --help``."""

import contextlib
import threading
from typing import Annotated

import typer

from jmsbridge.testing.proxy import Direction, End, FaultProxy


def _place(target: str) -> str:
    if not target.rpartition(":")[2].isdigit():
        raise typer.BadParameter(f"{target!r} names no port: HOST:PORT")
    return target


def main(
    target: Annotated[str, typer.Argument(metavar="HOST:PORT", callback=_place, help="Where the broker listens.")],
    listen: Annotated[int, typer.Option(metavar="PORT", help="Its own port; 0: a free one.")] = 0,
    delay: Annotated[float, typer.Option(metavar="SECONDS", help="Per round trip.")] = 0.0,
    bandwidth: Annotated[
        float | None, typer.Option(metavar="BYTES", help="Per second, direction and connection.")
    ] = None,
    cut_after: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Cut the first connection that has forwarded so many.")
    ] = None,
    direction: Annotated[Direction, typer.Option(help="The direction in which --cut-after counts.")] = Direction.OUT,
    cut_every: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Cut every connection at this interval.")
    ] = None,
    how: Annotated[End, typer.Option(help="How a cut looks.")] = End.RESET,
    half_open: Annotated[bool, typer.Option("--half-open", help="Accept connections and forward nothing.")] = False,
) -> None:
    """Simulate a bad network in front of a broker, until Ctrl-C.

    Examples:

      python -m jmsbridge.testing.proxy 127.0.0.1:5672 --delay 0.02

      python -m jmsbridge.testing.proxy broker:61613 --listen 61613 --cut-every 10 --how close
    """
    host, _, port = target.rpartition(":")
    with FaultProxy(host or "127.0.0.1", int(port), listen=listen, delay=delay, bandwidth=bandwidth) as proxy:
        if cut_after is not None:
            proxy.cut_after(cut_after, direction, how=how)
        if half_open:
            proxy.stall()
        print(f"{proxy.host}:{proxy.port} forwards to {target}; Ctrl-C ends it", flush=True)
        never = threading.Event()
        with contextlib.suppress(KeyboardInterrupt):  # the way to end it
            while not never.wait(cut_every):
                print(f"cut {proxy.cut(how)} connections", flush=True)


if __name__ == "__main__":
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(main)
    app(prog_name="python -m jmsbridge.testing.proxy")
