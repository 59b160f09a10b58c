from collections.abc import Iterator
from pathlib import Path

import pytest

from jmsbridge.spi import registry
from tests.config.stub import StubBackend

__all__ = ["own_folders", "stub"]


@pytest.fixture(autouse=True)
def stub() -> Iterator[None]:
    for scheme in ("stub", "stub+tls"):
        registry.register(scheme, StubBackend())
    yield
    for scheme in ("stub", "stub+tls"):
        registry.unregister(scheme)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not read the configuration of the user who runs them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("JMSBRIDGE_CONFIG", raising=False)
    monkeypatch.delenv("JMSBRIDGE_URL", raising=False)
