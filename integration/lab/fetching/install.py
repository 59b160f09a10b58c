"""Installing something once for this user: into a temporary folder, checked, then moved into place."""

import shutil
from collections.abc import Callable
from pathlib import Path

from integration.lab.running import places

__all__ = ["Say", "install", "installed"]

Say = Callable[[str], None]
"""Called with a short description of the current step."""

_DONE = "complete.txt"


def installed(name: str) -> Path | None:
    """The folder of a complete installation, or None, also for one that was moved, which may contain its old path."""
    folder = places.installations() / name
    marker = folder / _DONE
    return folder if marker.is_file() and marker.read_text() == str(folder) else None


def install(name: str, make: Callable[[Path, Path], None], check: Callable[[Path], None] = lambda folder: None) -> Path:
    """The folder of an installation, made now if necessary.

    `make(aside, folder)` fills `aside`, which then becomes `folder`; `check(folder)` raises if it is no good. An
    attempt that was interrupted leaves nothing that a later one would use.
    """
    with places.file_lock(f"install-{name}"):
        folder = installed(name)
        if folder is not None:
            return folder
        folder = places.installations() / name
        aside = folder.with_name(f".{name}.part")
        for leftover in (aside, folder):
            if leftover.exists():
                shutil.rmtree(leftover)
        aside.mkdir(mode=0o700)
        try:
            make(aside, folder)
            aside.rename(folder)
            check(folder)
            (folder / f"{_DONE}.part").write_text(str(folder))
            (folder / f"{_DONE}.part").rename(folder / _DONE)
        except BaseException:
            for leftover in (aside, folder):
                shutil.rmtree(leftover, ignore_errors=True)
            raise
        return folder
