"""The messages that an emulated selector sets aside go back in the order in which they came."""

from collections.abc import Sequence
from typing import Any

from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.selectors import compile_selector
from jmsbridge.spi import Address, Arrival, Native, Outcome, Ticket
from jmsbridge.testing.suite.contract.support import envelope


class Stopped(Clock):
    """A clock that the test sets, whose timers never run."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def call_later(self, delay: float, action: Any) -> Any:
        return None


class Released:
    """A subscription that notes what is released."""

    native = Native.NONE

    def __init__(self) -> None:
        self.tokens: list[Any] = []

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        assert outcome is Outcome.RELEASED
        self.tokens += tokens

    def grant(self, count: int) -> None:
        raise AssertionError("nothing is asked for")

    def drain(self, ticket: Ticket) -> None:
        raise AssertionError("nothing is drained")

    def close(self) -> None:
        raise AssertionError("it stays open")


def arrival(name: str) -> Arrival:
    return Arrival(name, envelope(Address("orders"), name, message_id=f"ID:{name}"))


def test_what_is_released_together_goes_in_order_of_arrival() -> None:
    clock, released = Stopped(), Released()
    buffer = UnmatchedBuffer(compile_selector("colour = 'red'"), 100, clock, lambda: None)
    for _ in range(3):  # one that came often stays longer
        assert buffer.takes(arrival("often"))
        clock.now += 10
        buffer.tend(released, lambda count: True)
    assert released.tokens == ["often"] * 3
    released.tokens.clear()
    assert buffer.takes(arrival("often"))
    (due, _, _) = buffer._held[0]
    clock.now += (due - clock.now) * 0.45
    assert buffer.takes(arrival("new"))
    assert buffer._held[0][2].token == "new"  # it is the first whose time is over
    clock.now = buffer._held[0][0]
    buffer.tend(released, lambda count: True)
    assert released.tokens == ["often", "new"]


def test_what_a_closed_consumer_had_set_aside_is_given_back_in_order_of_arrival() -> None:
    clock = Stopped()
    buffer = UnmatchedBuffer(compile_selector("colour = 'red'"), 100, clock, lambda: None)
    for _ in range(3):
        assert buffer.takes(arrival("often"))
    for name in ("a", "b"):
        assert buffer.takes(arrival(name))
    buffer.wait_paused()
    assert [each.token for each in buffer.empty()] == ["often", "often", "often", "a", "b"]
