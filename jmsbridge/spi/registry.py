"""The backends that can be used: entry points of group ``jmsbridge.backends``, and those registered by a test."""

import threading
from importlib.metadata import EntryPoint, entry_points

from jmsbridge.spi.backend import Backend
from jmsbridge.spi.version import check_version

__all__ = ["GROUP", "load", "names", "register", "unregister"]

GROUP = "jmsbridge.backends"

_lock = threading.Lock()  # guards _loaded
_loaded: dict[str, Backend] = {}


def register(name: str, backend: Backend) -> None:
    """Use ``backend`` for scheme ``name`` in this process; it takes precedence over an entry point.

    ``OtherVersion`` if it was written for another version of the SPI.
    """
    check_version(name, backend)
    with _lock:
        _loaded[name] = backend


def unregister(name: str) -> None:
    """Forget a backend that ``register`` added."""
    with _lock:
        _loaded.pop(name, None)


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def names() -> list[str]:
    """All schemes that have a backend here, sorted; importing a backend may still fail."""
    with _lock:
        registered = set(_loaded)
    return sorted(registered | set(_entries()))


def load(scheme: str) -> Backend:
    """The backend of a scheme. ``KeyError`` if it has none, ``ImportError`` if its client library is missing,
    ``OtherVersion`` if it was written for another version of the SPI."""
    with _lock:
        found = _loaded.get(scheme)
    if found is not None:
        return found
    backend: Backend = _entries()[scheme].load()
    check_version(scheme, backend)
    with _lock:
        return _loaded.setdefault(scheme, backend)
