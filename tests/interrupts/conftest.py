"""The scripted backend, for calls that are interrupted at a place that the test chooses."""

from tests.scripted.conftest import backend, connect

__all__ = ["backend", "connect"]
