"""One program per peer: ``python -m integration.bench.clients.NAME ROLE URL QUEUE``.

Each connects, prints ``ready``, and then for each number on its standard input sends or receives that many messages and
prints the seconds and the CPU seconds (all threads) that it took. It is idle in between, so that all programs of a run
can be measured in turn.
"""

__all__: list[str] = []
