"""The disturbances of the network and the broker: drawn from a seed, so that a run can be repeated."""

import random
import time
from collections.abc import Callable

import msgspec

from integration.faults.verdict import Disturbance
from jmsbridge.testing.proxy import Direction, End, FaultProxy

__all__ = ["PROCESSES", "Act", "draw", "perform"]

_CUTS = ("reset", "close", "out", "in", "stall")
PROCESSES = ("worker", "supervisor")
"""The disturbances that kill a process of ``jmsbridge run``."""
_PATIENCE = 5.0  # if a cut within the stream has not happened by then, it is made at once


class Act(msgspec.Struct, frozen=True):
    """One planned disturbance.

    ``reset`` and ``close`` end every connection, ``stall`` after a silence, ``out`` and ``in`` one of them after
    ``count`` bytes in that direction; ``kill`` kills the broker, ``worker`` and ``supervisor`` one of these processes.
    ``restart`` is not a disturbance: it closes all consumers and starts others.
    """

    after: float
    """When: the part of the work, 0 to 1, that is done by then."""
    kind: str
    count: int = 0


def draw(seed: int, cuts: int, kills: int, restarts: int = 0, deaths: int = 0) -> list[Act]:
    """Draw the disturbances, in order, spread over the run; the last of the deaths is a supervisor's."""
    chance = random.Random(seed)
    acts = [Act(chance.random(), chance.choice(_CUTS), chance.randrange(1, 20_000)) for _ in range(cuts)]
    # no kill at the very beginning and end, where there is little to lose
    acts += [Act(0.1 + 0.8 * chance.random(), "kill") for _ in range(kills)]
    acts += [Act(chance.random(), "restart") for _ in range(restarts)]
    acts += [Act(0.9 * chance.random(), PROCESSES[number == deaths - 1]) for number in range(deaths)]
    return sorted(acts, key=lambda act: act.after)


def perform(act: Act, proxy: FaultProxy, kill: Callable[[], None]) -> Disturbance:
    """Carry out a disturbance, and return when the network works again."""
    at = time.monotonic()
    if act.kind == "kill":
        kill()
    elif act.kind in ("reset", "close"):
        proxy.cut(End(act.kind))
    elif act.kind == "stall":
        proxy.stall()
        time.sleep(0.2)  # sleep: the silence is the disturbance
        proxy.cut()
        proxy.resume()
    else:
        cuts = proxy.cuts
        proxy.cut_after(act.count, Direction(act.kind))
        if not _becomes(lambda: proxy.cuts > cuts):
            proxy.resume()
            proxy.cut()
    return Disturbance(act.kind, at, time.monotonic())


def _becomes(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)  # sleep: a proxy does not notify of its cuts
    return True
