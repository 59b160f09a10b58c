"""Callbacks for ``os.fork``, on platforms that have it."""

import os
from collections.abc import Callable

__all__ = ["at_fork"]


def at_fork(
    *,
    before: Callable[[], None] | None = None,
    after_in_parent: Callable[[], None] | None = None,
    after_in_child: Callable[[], None] | None = None,
) -> None:
    """Call ``os.register_at_fork``; do nothing on a platform without ``fork``."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
        os.register_at_fork(**{name: call for name, call in given.items() if call is not None})
