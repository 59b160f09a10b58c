"""For how long a consumer waits for its next message before it looks whether it is to stop."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from jmsbridge.spi import Address, Mode
from jmsbridge_pulsar.receiving.flow import Flow


def _flow(consumers: int) -> Flow:
    facts: Any = SimpleNamespace(controlled=range(consumers))
    interest: Any = SimpleNamespace(address=Address("q"), mode=Mode.CONSUME)
    taker: Any = SimpleNamespace()
    credit: Any = None
    return Flow(facts, interest, None, credit, lambda: taker, lambda: False, progress=None)


@pytest.mark.parametrize(
    ("consumers", "soon", "later"),
    [(1, 0.004, 0.02), (10, 0.004, 0.02), (40, 0.016, 0.02), (100, 0.04, 0.04), (1000, 0.2, 0.2)],
)
def test_all_consumers_of_a_link_together_wait_at_most_2500_times_in_a_second(
    monkeypatch: pytest.MonkeyPatch, consumers: int, soon: float, later: float
) -> None:
    """Also where each of them gets a message now and then."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    flow = _flow(consumers)
    flow.begin()
    assert flow._poll() == pytest.approx(soon)
    now += 1
    assert flow._poll() == pytest.approx(later)
