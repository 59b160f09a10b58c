"""Windows, medians, and the speed of this machine."""

import resource
import statistics
import sys
import time
from collections.abc import Callable

import msgspec

from jmsbridge import Message, Session, TextMessage

__all__ = [
    "BODY",
    "WINDOWS",
    "Curve",
    "Figure",
    "cpu_loop",
    "figure_of",
    "in_turn",
    "median_rate",
    "message",
    "read",
    "resident",
    "windows",
]

WINDOWS = 5
BODY = "x" * 256


class Figure(msgspec.Struct, frozen=True):
    """One measured number: the median of the windows, the lowest and the highest, and the required value."""

    name: str
    unit: str
    median: float
    low: float
    high: float
    bar: float | None = None
    more_is_better: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the required value is reached; None if there is none."""
        if self.bar is None:
            return None
        return self.median >= self.bar if self.more_is_better else self.median <= self.bar


class Curve(msgspec.Struct, frozen=True):
    """Microseconds per message with growing numbers of objects, and the highest relative to the first."""

    name: str
    costs: list[float]
    ratio: float
    bar: float

    @property
    def met(self) -> bool:
        """Whether the limit is kept."""
        return self.ratio <= self.bar


def message(session: Session) -> TextMessage:
    """The message of all figures: 256 bytes of text and five typed properties."""
    made = session.create_text_message(BODY)
    made.set_string_property("customer", "c-4711")
    made.set_int_property("number", 42)
    made.set_long_property("sequence", 1 << 40)
    made.set_double_property("price", 9.75)
    made.set_boolean_property("rush", True)
    return made


def read(received: Message | None) -> None:
    """Read a received message: its text and one property."""
    if not isinstance(received, TextMessage) or len(received.text or "") != len(BODY):
        raise RuntimeError(f"{received!r} is not what was sent")
    if received.get_int_property("number") != 42:
        raise RuntimeError(f"{received!r} has not the property that was sent")


def windows(name: str, unit: str, bar: float | None, measure: Callable[[], float], *, more: bool = True) -> Figure:
    """The median of five windows, after a warm-up window."""
    return figure_of(name, unit, in_turn(measure)[0], bar, more=more)


def in_turn(*measures: Callable[[], float]) -> list[list[float]]:
    """Five windows of each in turn, after a warm-up window, so that the load of the machine affects all."""
    for measure in measures:
        measure()
    rounds = [[measure() for measure in measures] for _ in range(WINDOWS)]
    return [list(values) for values in zip(*rounds, strict=True)]


def figure_of(name: str, unit: str, values: list[float], bar: float | None = None, *, more: bool = True) -> Figure:
    """The figure of these windows."""
    return Figure(name, unit, statistics.median(values), min(values), max(values), bar, more)


def median_rate(name: str, bar: float, count: int, run: Callable[[int], float]) -> Figure:
    """Messages per second; ``run`` sends or receives a number of messages and returns the seconds."""
    return windows(name, "messages/s", bar, lambda: count / run(count))


def cpu_loop() -> float:
    """Million iterations per second of a loop that only counts: the speed of one core of this machine."""
    turns = 3_000_000
    started = time.perf_counter()
    total = 0
    for number in range(turns):
        total += number & 3
    return turns / (time.perf_counter() - started) / 1e6


def resident() -> float:
    """The memory of this process in MiB."""
    try:
        with open("/proc/self/statm", encoding="ascii") as status:
            return int(status.read().split()[1]) * resource.getpagesize() / (1 << 20)
    except OSError:  # No /proc: the largest size so far, which also shows growth.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
