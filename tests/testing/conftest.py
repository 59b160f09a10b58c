"""The scripted backend, for tests of the plugin."""

from tests.core.conftest import backend, connect

__all__ = ["backend", "connect"]
