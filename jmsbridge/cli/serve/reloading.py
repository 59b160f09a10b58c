"""``--reload``: notices that Python files below a folder have changed."""

import os
from pathlib import Path

__all__ = ["Sources"]

_MOST = 20_000
_LEFT_OUT = {"__pycache__", "node_modules", "site-packages"}


class Sources:
    """The Python files below a folder, without hidden folders and installed packages; at most 20,000 of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._times = self._look()

    def has_changed(self) -> bool:
        """Whether a file was changed, added or removed since the last call."""
        before, self._times = self._times, self._look()
        return self._times != before

    def _look(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for where, folders, files in os.walk(self._folder):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in _LEFT_OUT]
            for name in files:
                if name.endswith(".py") and len(found) < _MOST:
                    path = os.path.join(where, name)
                    try:
                        found[path] = os.stat(path).st_mtime_ns
                    except OSError:
                        continue  # it has been removed meanwhile
        return found
