"""One program per peer: ``python -m integration.bench.clients.NAME ROLE URL QUEUE``.

Each connects, prints ``ready``, and then for each line of its standard input, a number, sends or receives so many
messages and prints the seconds and the CPU seconds (all threads) that it took. Idle in between, so that all peers of a
run can be measured in turn.
"""

__all__: list[str] = []
