"""A complete, small backend as a starting point for your own: ``python -m jmsbridge.testing.sample FOLDER`` copies it.

It connects jmsbridge to a broker in memory and passes the whole compliance suite. ``docs/backend-authors.md`` explains
it step by step.
"""

import shutil
from pathlib import Path

__all__ = ["FOLDER", "copy"]

FOLDER = Path(__file__).parent
"""The folder of the sample."""


def copy(target: Path) -> list[Path]:
    """Copy the sample into a new or empty folder; return its files."""
    if target.exists() and any(target.iterdir()):
        raise FileExistsError(f"{target} is not empty")
    own = {"__init__.py", "__main__.py"}

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {"__pycache__"} | (own if Path(folder) == FOLDER else set())

    shutil.copytree(FOLDER, target, ignore=ignored, dirs_exist_ok=True)
    return sorted(path for path in target.rglob("*") if path.is_file())
