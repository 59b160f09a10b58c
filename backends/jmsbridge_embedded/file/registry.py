"""The files that this process has open, with one store for each."""

import sys
import threading
import time
from pathlib import Path

from jmsbridge.spi import ConnectFailed, Endpoint, LinkEvents, NotSupported
from jmsbridge_embedded.client import UNLIMITED, Client
from jmsbridge_embedded.file.disk.forking import pause_all, resume_all
from jmsbridge_embedded.file.link import FileLink
from jmsbridge_embedded.file.presence import HAS_LOCKS
from jmsbridge_embedded.file.store import Store

__all__ = ["abandon_all", "after_fork", "before_fork", "cut", "open_link"]

_lock = threading.RLock()
"""Guards ``_stores``; held while a file is opened or closed, and while the process forks."""
_stores: dict[Path, Store] = {}
_left_behind: list[Store] = []
"""Stores of the parent process: their connections must not be closed in the child."""


def open_link(endpoint: Endpoint, events: LinkEvents, max_messages: int | None, duplicate_window: int) -> FileLink:
    """Open a link to the broker in the endpoint's file, which is created if it does not exist."""
    if not HAS_LOCKS:
        raise NotSupported(
            f"{endpoint}: a broker in a file needs POSIX file locks and Unix sockets, which {sys.platform} does not "
            "have; use embedded: for a broker in the memory of this process, or a broker on the network"
        )
    path, timeout = _real(endpoint.path), endpoint.connect_timeout
    deadline = time.monotonic() + timeout
    if not _lock.acquire(timeout=min(timeout, threading.TIMEOUT_MAX)):
        raise ConnectFailed(f"{path}: this process was busy opening or closing another file for {timeout:g} s")
    try:
        store = _stores.get(path)
        if store is None or store.death is not None:
            store = Store(path, store is not None and store.damaged, _release)
            store.start(timeout)
            _stores[path] = store
        client = Client(endpoint.client_id, max_messages or UNLIMITED, duplicate_window)
        link = FileLink(store, endpoint, events, client)
        try:
            store.enter(link, max(0.0, deadline - time.monotonic()), timeout)
        except BaseException:
            _close_idle(store)
            raise
    finally:
        _lock.release()
    return link


def _release(store: Store) -> None:
    """Called when a link has ended: close the file after the last one."""
    with _lock:
        _close_idle(store)


def _close_idle(store: Store) -> None:
    if store.death is None and not store.links and _stores.get(store.path) is store:
        del _stores[store.path]
        store.stop()


def cut(text: str) -> None:
    """Kill every link of this process to a file as a network failure would; messages stay. For tests."""
    with _lock:
        store = _stores.get(_real(text))
    if store is not None:
        store.cut(f"the connection to {store.path} was cut")


def before_fork() -> None:
    """Wait until no file is being opened, closed or used."""
    _lock.acquire()
    pause_all()


def after_fork() -> None:
    """Files may be used again; in both processes."""
    resume_all()
    _lock.release()


def abandon_all() -> None:
    """In a forked child: mark the inherited links as lost, and keep the parent's connections open."""
    stores = list(_stores.values())
    _stores.clear()
    _left_behind.extend(stores)
    for store in stores:
        store.abandon("the link was opened in another process; connect again after a fork")


def _real(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConnectFailed(f"{text}: {error}") from error
