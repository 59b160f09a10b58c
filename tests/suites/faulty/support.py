"""Running cases of the suite on a faulty variant, with short time-outs for events that it omits."""

import contextlib
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

import jmsbridge_embedded
from jmsbridge.spi import Backend, Channel, registry
from jmsbridge.testing import Harness
from jmsbridge.testing.suite.support import LONG
from tests.suites.faulty.layer import Fault, LayerBackend, LayerChannel
from tests.suites.layered.harness import EmbeddedHarness
from tests.suites.layered.slow import SlowBackend
from tests.suites.sample.acme import SampleHarness, acme

__all__ = ["SLOW", "be_impatient", "broken_harness"]

SLOW = 0.005
"""Seconds to the broker, and the same back."""
_PATIENCE = 0.7


class _LosingHarness(SampleHarness):  # type: ignore[misc]  # a copy of the sample has no types here
    """The harness of the sample, with a layer above its channels."""

    def lose_channel(self, channel: Channel) -> bool:
        assert isinstance(channel, LayerChannel)
        made: bool = super().lose_channel(channel.inner)
        return made


@contextlib.contextmanager
def broken_harness(fault: type[Fault]) -> Iterator[Harness]:
    """The harness of a broker with this fault; errors while it closes are ignored."""
    registry.register("faulty", LayerBackend("faulty", _below(fault), fault()))
    made: Harness = (
        _LosingHarness("faulty") if fault.loses_channels else EmbeddedHarness("faulty", networked=fault.slow)
    )
    try:
        yield made
    finally:
        with contextlib.suppress(Exception):
            made.close()
        registry.unregister("faulty")


def _below(fault: type[Fault]) -> Backend:
    if fault.loses_channels:
        sample: Backend = acme.backend
        return sample
    return SlowBackend("slow", jmsbridge_embedded.backend, SLOW) if fault.slow else jmsbridge_embedded.backend


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits of the suite to less than a second, because the broker is in this process."""
    for name, module in list(sys.modules.items()):
        if name.startswith("jmsbridge.testing.suite"):
            if hasattr(module, "LONG"):
                monkeypatch.setattr(module, "LONG", _PATIENCE)
            for function in _functions(module):
                defaults = tuple(_PATIENCE if value == LONG else value for value in function.__defaults__ or ())
                monkeypatch.setattr(function, "__defaults__", defaults)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions and methods of the module that have default arguments."""
    places: list[Any] = [module, *(one for one in vars(module).values() if isinstance(one, type))]
    for place in places:
        for one in vars(place).values():
            if isinstance(one, FunctionType) and one.__module__ == module.__name__ and one.__defaults__:
                yield one
