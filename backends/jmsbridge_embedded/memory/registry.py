"""The brokers in memory of this process, by name."""

import threading

from jmsbridge_embedded.memory.broker import Broker, brokers

__all__ = ["abandon_all", "after_fork", "before_fork", "cut", "discard", "named"]

_registry: dict[str, Broker] = {}
_lock = threading.Lock()
_at_fork: list[threading.Lock] = []
"""The locks held while the process forks, so that no other thread holds one in the child."""


def named(name: str) -> Broker:
    """The broker of that name, created on first use."""
    with _lock:
        broker = _registry.get(name)
        if broker is None:
            broker = _registry[name] = Broker(name)
        return broker


def cut(name: str) -> None:
    """Kill every link of a broker as a network failure would."""
    with _lock:
        broker = _registry.get(name)
    if broker is not None:
        broker.cut(f"the connection to embedded broker {name!r} was cut")


def discard(name: str = "default") -> None:
    """Drop a broker and its contents; its links are lost. The next ``open`` creates an empty one. For tests."""
    with _lock:
        broker = _registry.pop(name, None)
    if broker is not None:
        broker.end(f"embedded broker {name!r} was discarded")


def before_fork() -> None:
    """Take the locks of the registry and of all brokers."""
    _lock.acquire()
    locks = [broker.state.lock for broker in sorted(brokers(), key=id)]
    for lock in locks:
        lock.acquire()
    _at_fork.extend(locks)


def after_fork() -> None:
    """Release them, in the parent and the child."""
    for lock in _at_fork:
        lock.release()
    _at_fork.clear()
    _lock.release()


def abandon_all() -> None:
    """In a forked child, before ``after_fork``: mark the inherited links as lost."""
    _registry.clear()
    for broker in brokers():
        for link in list(broker.links):
            link.abandon("the link was opened in another process; connect again after a fork")
