"""What jmsbridge must reach beside its peers in the same run."""

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


_RATES = (
    ("jmsbridge, completion listener", "pika BlockingConnection", 10.0),
    ("jmsbridge, completion listener", "aio-pika, gathered", 2.0),
    ("jmsbridge, completion listener", "pika SelectConnection, own thread", 1.0),
    ("jmsbridge, completion listener", "Java JMS client, completion listener", 1.0),
    ("jmsbridge, send()", "pika BlockingConnection", 0.9),
    ("jmsbridge, listener AUTO", "pika SelectConnection, each acknowledged", 1.0),
    ("jmsbridge, listener AUTO", "Java JMS client, listener AUTO", 1.0),
    ("jmsbridge, listener DUPS_OK", "pika SelectConnection, each acknowledged", 1.3),
    ("jmsbridge, transactions", "Java JMS client, transactions", 0.6),
)
_DELAYED = "jmsbridge, completion listener"


def bars(figures: Sequence[Figure]) -> list[Bar]:
    """Every comparison whose two sides were measured."""
    return [*_rates(figures), *_costs(figures), *_delays(figures)]


def _direct(figures: Sequence[Figure], queue_type: str) -> dict[str, Figure]:
    return {one.row.name: one for one in figures if one.delay is None and one.queue_type == queue_type}


def _ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median over the turns: what else the machine does changes from turn to turn, and meets both."""
    return statistics.median(one / other for one, other in zip(ours, peer, strict=True))


def _rates(figures: Sequence[Figure]) -> Iterator[Bar]:
    for queue_type in ("classic", "quorum"):
        found = _direct(figures, queue_type)
        for ours, peer, wanted in _RATES:
            if ours in found and peer in found:
                text = f"{ours} to {peer}, {queue_type} queue"
                yield Bar(text, _ratio(found[ours].rates, found[peer].rates), wanted)


def _costs(figures: Sequence[Figure]) -> Iterator[Bar]:
    for queue_type in ("classic", "quorum"):
        found = _direct(figures, queue_type)
        ours, peer = found.get("jmsbridge, send()"), found.get("pika BlockingConnection")
        if ours and peer:
            text = f"CPU of send() to that of pika BlockingConnection, {queue_type} queue"
            yield Bar(text, _ratio(ours.costs, peer.costs), 1.0, at_least=False)


def _delays(figures: Sequence[Figure]) -> Iterator[Bar]:
    near = [one for one in figures if one.delay == 0 and one.row.name == _DELAYED]
    for figure in figures:
        if near and figure.delay and figure.row.name == _DELAYED:
            text = f"{_DELAYED} with {figure.delay * 1000:.0f} ms of round trip to none, through the same proxy"
            yield Bar(text, _ratio(figure.rates, near[0].rates), 0.8)
