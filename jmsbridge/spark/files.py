"""Files of the log that are whole and on disk once they have their name, also if the machine loses its power."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["sync_folder", "write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Make or replace a file, whole or not at all; it is on disk when this returns."""
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """What names the folder has is on disk when this returns."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
