"""Running cases of the suite on a faulty variant, without waiting long for what it will not do."""

import contextlib
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

import jmsbridge_embedded
from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from jmsbridge.testing.suite.support import LONG
from tests.suites.faulty.layer import Fault, LayerBackend
from tests.suites.layered.harness import EmbeddedHarness
from tests.suites.layered.slow import SlowBackend

__all__ = ["SLOW", "be_impatient", "broken_harness"]

SLOW = 0.005
"""Seconds to the broker, and as many back."""
_PATIENCE = 0.7


@contextlib.contextmanager
def broken_harness(fault: type[Fault]) -> Iterator[Harness]:
    """The harness of an embedded broker with this fault; what its closing complains of is not what a case is about."""
    inner = SlowBackend("slow", jmsbridge_embedded.backend, SLOW) if fault.slow else jmsbridge_embedded.backend
    registry.register("faulty", LayerBackend("faulty", inner, fault()))
    made = EmbeddedHarness("faulty", networked=fault.slow)
    try:
        yield made
    finally:
        with contextlib.suppress(Exception):
            made.close()
        registry.unregister("faulty")


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not come after less than a second does not come: the broker is in this process."""
    for name, module in list(sys.modules.items()):
        if name.startswith("jmsbridge.testing.suite"):
            if hasattr(module, "LONG"):
                monkeypatch.setattr(module, "LONG", _PATIENCE)
            for function in _functions(module):
                defaults = tuple(_PATIENCE if value == LONG else value for value in function.__defaults__ or ())
                monkeypatch.setattr(function, "__defaults__", defaults)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Those with defaults that the module defines, in its classes too."""
    places: list[Any] = [module, *(one for one in vars(module).values() if isinstance(one, type))]
    for place in places:
        for one in vars(place).values():
            if isinstance(one, FunctionType) and one.__module__ == module.__name__ and one.__defaults__:
                yield one
