"""The ratios to other clients that jmsbridge must reach in the same run."""

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from integration.bench.rows import Comparison
from integration.bench.turns import Figure

__all__ = ["Bar", "bars"]


_OF_CREDIT = 0.9
"""The share of what the broker's credit lets through that is enough where that is the limit."""


class Bar(NamedTuple):
    """One comparison: the measured ratio, and the required one."""

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
    """The median of the ratios of each turn, because the load of the machine changes between turns and affects both."""
    return statistics.median(one / other for one, other in zip(ours, peer, strict=True))


def _rates(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[Bar]:
    for queue_type in comparison.queue_types:
        found = _direct(figures, queue_type)
        for ours, peer, least, best in comparison.rates:
            if ours in found and peer in found:
                rates = found[peer].rates
                reached = found[ours].rate / max(rates) if best else _ratio(found[ours].rates, rates)
                yield Bar(f'"{ours}" to "{peer}"{", its best window" * best}, {queue_type} queue', reached, least)


def _costs(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[Bar]:
    for queue_type in comparison.queue_types:
        found = _direct(figures, queue_type)
        for ours, peer, most in comparison.costs:
            if ours in found and peer in found:
                text = f'CPU of "{ours}" to that of "{peer}", {queue_type} queue'
                yield Bar(text, _ratio(found[ours].costs, found[peer].costs), most, at_least=False)


def _delays(comparison: Comparison, figures: Sequence[Figure]) -> Iterator[Bar]:
    found = {(one.row.name, one.delay): one for one in figures if one.delay is not None}
    name = next((row.name for row in comparison.delayed), "")
    for (row, delay), far in found.items():
        near = found.get((row, 0.0))
        if row == name and delay and near:
            text = f'"{name}" with {delay * 1000:.0f} ms of round trip to'
            kept = Bar(f"{text} none, through the same proxy", _ratio(far.rates, near.rates), comparison.kept)
            credit = found.get((comparison.credit, delay))
            if credit is None or kept.met:
                yield kept
            else:
                yield Bar(f'{text} "{comparison.credit}"', _ratio(far.rates, credit.rates), _OF_CREDIT)
