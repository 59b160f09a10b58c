"""A new cache for each test, and the fake broker in the launcher's table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.lab.broker import SERVERS
from integration.lab.running import state
from integration.lab.table import KINDS
from integration.lab.tests.fake import FAKE, Fake


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache of this test; brokers that it leaves running are ended."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("JMSBRIDGE_BROKERS_CACHE", str(folder))
    monkeypatch.delenv("JMSBRIDGE_BROKERS", raising=False)
    yield folder
    monkeypatch.setenv("JMSBRIDGE_BROKERS_CACHE", str(folder))
    for left in state.every_state():
        state.remove(left)


@pytest.fixture
def fake(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """The fake broker, known as `fake`."""
    server = Fake()
    monkeypatch.setitem(KINDS, "fake", FAKE)
    monkeypatch.setitem(SERVERS, "fake", server)
    return server
