"""What jmsbridge must reach beside its peers in the same run."""

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from integration.bench.rows import Comparison
from integration.bench.turns import Figure

__all__ = ["Bar", "bars"]


class Bar(NamedTuple):
    """One comparison: the ratio reached, and the one asked for."""

    text: str
    reached: float
    wanted: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        """Whether it is reached."""
        return self.reached >= self.wanted if self.at_least else self.reached <= self.wanted


def bars(comparison: Comparison, figures: Sequence[Figure]) -> list[Bar]:
    """Every comparison whose two sides were measured."""
    return [*_rates(comparison, figures), *_costs(comparison, figures), *_delays(comparison, figures)]


def _direct(figures: Sequence[Figure], queue_type: str) -> dict[str, Figure]:
    return {one.row.name: one for one in figures if one.delay is None and one.queue_type == queue_type}


def _ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median over the turns: what else the machine does changes from turn to turn, and meets both."""
    return statistics.median(one / other for one, other in zip(ours, peer, strict=True))


def _rates(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[Bar]:
    for queue_type in comparison.queue_types:
        found = _direct(figures, queue_type)
        for ours, peer, wanted in comparison.rates:
            if ours in found and peer in found:
                text = f"{ours} to {peer}, {queue_type} queue"
                yield Bar(text, _ratio(found[ours].rates, found[peer].rates), wanted)


def _costs(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[Bar]:
    for queue_type in comparison.queue_types:
        found = _direct(figures, queue_type)
        for ours, peer in comparison.costs:
            if ours in found and peer in found:
                text = f"CPU of {ours.removeprefix('jmsbridge, ')} to that of {peer}, {queue_type} queue"
                yield Bar(text, _ratio(found[ours].costs, found[peer].costs), 1.0, at_least=False)


def _delays(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[Bar]:
    name = comparison.delayed[0]
    near = [one for one in figures if one.delay == 0 and one.row.name == name]
    for figure in figures:
        if near and figure.delay and figure.row.name == name:
            text = f"{name} with {figure.delay * 1000:.0f} ms of round trip to none, through the same proxy"
            yield Bar(text, _ratio(figure.rates, near[0].rates), 0.8)
