"""Run a proxy by hand: ``python -m jmsbridge.testing.proxy --help``."""

import argparse
import contextlib
import sys
import threading

from jmsbridge.testing.proxy import Direction, End, FaultProxy


def main(arguments: list[str] | None = None) -> int:
    """Run a proxy until it is interrupted."""
    settings = _parser().parse_args(arguments)
    host, _, port = settings.target.rpartition(":")
    with FaultProxy(
        host or "127.0.0.1", int(port), listen=settings.listen, delay=settings.delay, bandwidth=settings.bandwidth
    ) as proxy:
        if settings.cut_after is not None:
            proxy.cut_after(settings.cut_after, settings.direction, how=settings.how)
        if settings.half_open:
            proxy.stall()
        print(f"{proxy.host}:{proxy.port} leads to {settings.target}; Ctrl-C ends it", flush=True)
        never = threading.Event()
        with contextlib.suppress(KeyboardInterrupt):  # the way to end it
            while not never.wait(settings.cut_every):
                print(f"cut {proxy.cut(settings.how)} connections", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jmsbridge.testing.proxy", description="A bad network in front of a broker on this machine."
    )
    parser.add_argument("target", metavar="HOST:PORT", help="where the broker listens")
    parser.add_argument("--listen", type=int, default=0, metavar="PORT", help="its own port; default: a free one")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="there and back")
    parser.add_argument("--bandwidth", type=float, metavar="BYTES", help="per second, direction and connection")
    parser.add_argument("--cut-after", type=int, metavar="BYTES", help="cut the first connection that passed so many")
    parser.add_argument("--direction", type=Direction, choices=list(Direction), default=Direction.OUT)
    parser.add_argument("--cut-every", type=float, metavar="SECONDS", help="cut every connection, again and again")
    parser.add_argument("--how", type=End, choices=list(End), default=End.RESET, help="how a cut looks")
    parser.add_argument("--half-open", action="store_true", help="accept connections and pass nothing on")
    return parser


if __name__ == "__main__":
    sys.exit(main())
