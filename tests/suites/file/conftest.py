"""How the compliance suite reaches the embedded broker in a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import jmsbridge_embedded
from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from jmsbridge.testing.suite.support import eventually
from tests.suites.layered.harness import stored_at

if "embedded" not in registry.names():  # a bare checkout: nothing is installed, so there is no entry point
    registry.register("embedded", jmsbridge_embedded.backend)


class FileHarness(Harness):
    """A file of its own for each test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(f"embedded:{path}")

    def cut(self) -> None:
        """All links of this process to the file die; its messages stay."""
        jmsbridge_embedded.cut(path=str(self._path))

    def stored(self) -> int:
        """What is in queues and subscriptions."""
        return stored_at(self.endpoint, self.options)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with FileHarness(tmp_path / "suite.db") as made:
        yield made
    # a supervisor may be closing a link of its own; then nothing is left but the database
    eventually(lambda: {file.name for file in tmp_path.iterdir()} <= {"suite.db"})
