"""How the compliance suite reaches the embedded broker in a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

import jmsbridge_embedded
from jmsbridge.spi import Native, registry
from jmsbridge.testing import Harness
from jmsbridge.testing.suite.support import eventually
from tests.suites.layered.harness import stored_at

if "embedded" not in registry.names():  # in a checkout that is not installed there is no entry point
    registry.register("embedded", jmsbridge_embedded.backend)


class FileHarness(Harness):
    """A new file for each test."""

    _asked: ClassVar[Native | None] = None

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(f"embedded:{path}")

    def cut(self) -> None:
        """All links of this process to the file are lost; its messages stay."""
        jmsbridge_embedded.cut(path=str(self._path))

    @property
    def native(self) -> Native:
        """The capabilities of a link, asked once in each process: they are those of every file."""
        if FileHarness._asked is None:
            FileHarness._asked = super().native
        return FileHarness._asked

    def stored(self) -> int:
        """The number of messages in queues and subscriptions."""
        return stored_at(self.endpoint, self.options)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """The fixture that every case of the suite uses."""
    with FileHarness(tmp_path / "suite.db") as made:
        yield made
    # a supervisor may still be closing its link; afterwards only the database is left
    eventually(lambda: {file.name for file in tmp_path.iterdir()} <= {"suite.db"})
