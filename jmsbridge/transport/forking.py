"""What happens when the process forks, on platforms that can."""

import os
from collections.abc import Callable

__all__ = ["at_fork"]


def at_fork(
    *,
    before: Callable[[], None] | None = None,
    after_in_parent: Callable[[], None] | None = None,
    after_in_child: Callable[[], None] | None = None,
) -> None:
    """``os.register_at_fork``; does nothing on a platform without ``fork``."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
        os.register_at_fork(**{name: call for name, call in given.items() if call is not None})
