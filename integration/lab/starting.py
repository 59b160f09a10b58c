"""Fetching, starting, sharing and finding brokers."""

import itertools
import os
from collections.abc import Collection

from integration.lab.broker import SERVERS, Broker
from integration.lab.contained import Contained
from integration.lab.errors import BrokerError, BrokerUnavailable
from integration.lab.fetching.install import Say
from integration.lab.running import places, ports, state
from integration.lab.running.docker import CONTAINER, engine_wanted, pull
from integration.lab.running.images import image
from integration.lab.running.state import State
from integration.lab.table import kind

__all__ = ["fetch", "find", "join", "leave", "start"]

_numbers = itertools.count(1)


def start(
    name: str, *, options: Collection[str] = (), sync: bool = True, instance: str | None = None, keep: bool = False
) -> Broker:
    """Start a broker of that name, on free ports, with no data, and return when every listener answers.

    It belongs to this process: if this process ends without stopping it, the next start of any broker does, unless
    `keep`. The `options` are those of its kind. `sync=False` lets the Java brokers confirm before messages are on the
    disk: for speed, never where loss matters.
    BrokerUnavailable if it is not fetched, and for options in a container.
    """
    server = SERVERS[kind(name).name]
    wanted = server.kind.chosen(options)
    home = CONTAINER if engine_wanted() else server.installed()
    if home is None:
        raise BrokerUnavailable(f"{server.kind.title} is not fetched: `make brokers` fetches it")
    if wanted and home == CONTAINER:
        raise BrokerUnavailable(f"{server.kind.title} in a container has no {', '.join(wanted)}")
    if home == CONTAINER:
        image(server.kind)  # BrokerUnavailable where there is none
    state.sweep()
    chosen = instance or f"{name}-{os.getpid()}-{next(_numbers)}"
    with places.file_lock("runs"):
        if state.load(chosen) is not None:
            raise BrokerError(f"a broker {chosen!r} exists already")
        taken = [port for other in state.every_state() for port in other.ports.values()]
        (places.runs() / chosen).mkdir(mode=0o700)
        listening = ports.choose(server.kind, taken, usual=keep)
        written = State(chosen, name, str(home), listening, sync)
        written.choose(wanted)
        written.save()
        if not keep:
            written.own()
    broker = _broker(written)
    try:
        broker.launch()
    except BaseException:
        broker.stop()
        raise
    return broker


def join(name: str, instance: str, options: Collection[str] = ()) -> Broker:
    """A broker that several processes share under one name; the first starts it, each calls `leave` at its end."""
    with places.file_lock(f"share-{name}"):
        state.sweep()
        written = state.load(instance)
        if written is None:
            return start(name, instance=instance, options=options)
        written.own()
        broker = _broker(written)
        if not broker.running:
            broker.restart()
        return broker


def leave(broker: Broker) -> None:
    """Stop using a shared broker; the last process stops the broker."""
    with places.file_lock(f"share-{broker.kind.name}"):
        written = state.load(broker.instance)
        if written is not None and written.disown():
            broker.stop()


def find(instance: str) -> Broker | None:
    """A broker that any process has started, or None."""
    written = state.load(instance)
    return None if written is None else _broker(written)


def fetch(name: str, say: Say = lambda text: None) -> None:
    """Fetch a broker into the user's cache, unless it is there; `say` is called with each step."""
    server = SERVERS[kind(name).name]
    if engine_wanted():
        say("pulling the image")
        pull(server)
    else:
        server.fetch(say)


def _broker(written: State) -> Broker:
    return Contained(written) if written.contained else Broker(written)
