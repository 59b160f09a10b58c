"""The cost of deep queues in a file for receivers: the rate, and the longest single receive."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import jmsbridge
from bench.measuring import BODY, WINDOWS, Figure, figure_of
from jmsbridge import Connection, Queue

__all__ = ["DEPTHS", "figures"]

DEPTHS = (10_000, 100_000, 1_000_000)
COUNT = 5_000
"""Messages of a window, at most."""

KEPT = 0.5
"""The required rate on the deepest queue, relative to the shallowest one."""

_DEEP = Queue("deep")
_PATIENCE = 300.0


def figures(depths: tuple[int, ...] = DEPTHS) -> Iterator[Figure]:
    """One file per depth, all open, measured in turn window by window; received messages are sent again."""
    count = min(COUNT, *depths)
    with tempfile.TemporaryDirectory() as folder:
        links = [jmsbridge.connect(f"embedded:{Path(folder) / f'{depth}.db'}") for depth in depths]
        try:
            for link, depth in zip(links, depths, strict=True):
                link.start()
                _fill(link, depth)
            rounds = [[_receive(link, count) for link in links] for _ in range(WINDOWS)]
        finally:
            for link in links:
                link.close()
    for depth, found in zip(depths, zip(*rounds, strict=True), strict=True):
        yield figure_of(f"receive, AUTO, {depth:,} waiting", "messages/s", [rate for rate, _ in found], None)
        longest = [most * 1000 for _, most in found]
        yield figure_of(f"longest receive, {depth:,} waiting", "ms", longest, None, more=False)
    ratios = [found[-1][0] / found[0][0] for found in rounds]
    yield figure_of(f"receive, AUTO, {depths[-1]:,} beside {depths[0]:,} waiting", "of the other rate", ratios, KEPT)


def _fill(link: Connection, count: int) -> None:
    with link.create_session(True) as session:
        producer = session.create_producer(_DEEP)
        for number in range(1, count + 1):
            producer.send(session.create_text_message(BODY))
            if number % 1000 == 0 or number == count:
                session.commit()


def _receive(link: Connection, count: int) -> tuple[float, float]:
    """Messages per second, and the seconds of the longest call."""
    longest, begun = 0.0, time.perf_counter()
    with link.create_session() as session:
        consumer = session.create_consumer(_DEEP)
        for _ in range(count):
            started = time.perf_counter()
            if consumer.receive(timeout=_PATIENCE) is None:
                raise RuntimeError("a message is missing")
            longest = max(longest, time.perf_counter() - started)
        seconds = time.perf_counter() - begun
    _fill(link, count)
    return count / seconds, longest
