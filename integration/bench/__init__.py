"""The facade beside its peers: the same messages through the same broker, in turn, in one run.

    python -m integration.bench rabbitmq            # a broker of this run's own, from python -m integration.brokers
    python -m integration.bench --write rabbitmq    # and keep the figures in docs/performance-rabbitmq.md

Needs the extra ``bench``; the Java client takes part where a JDK and Maven are.
"""

from integration.bench.rows import ROWS, Row
from integration.bench.turns import Figure, measure

__all__ = ["ROWS", "Figure", "Row", "measure"]
