"""Callbacks for ``os.fork``, on platforms that have it."""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["abandoned_at_fork", "at_fork", "held_at_fork"]


class _Abandoned(Protocol):
    def abandon(self) -> None:
        """In a forked child: drop what belongs to the parent, without using it."""


A = TypeVar("A", bound=_Abandoned)


def at_fork(
    *,
    before: Callable[[], object] | None = None,
    after_in_parent: Callable[[], object] | None = None,
    after_in_child: Callable[[], object] | None = None,
) -> None:
    """Call ``os.register_at_fork``; do nothing on a platform without ``fork``."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
        os.register_at_fork(**{name: call for name, call in given.items() if call is not None})


def held_at_fork(lock: threading.Lock) -> threading.Lock:
    """The lock: a fork waits until no other thread has it, since nobody would release it in the child."""
    at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def abandoned_at_fork(kind: type[A]) -> "weakref.WeakSet[A]":
    """A set of living objects of this kind, which are abandoned in a forked child."""
    living: weakref.WeakSet[A] = weakref.WeakSet()

    def abandon_all() -> None:
        for each in list(living):
            each.abandon()
        living.clear()

    at_fork(after_in_child=abandon_all)
    return living
