"""The common part of the programs: arguments, message, answers."""

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

__all__ = [
    "BODY",
    "LARGE_PREFETCH",
    "ORDER",
    "PREFETCH",
    "WINDOW",
    "Arguments",
    "Order",
    "arguments",
    "check",
    "check_order",
    "headers",
    "serve",
]

BODY = "x" * 256
PREFETCH = 250
LARGE_PREFETCH = 1000
"""Of all that receive on the pages of applications: with 250 the broker stands still a fifth of the time."""
WINDOW = 1000


@dataclass
class Order:
    """What applications exchange."""

    number: int
    article: str
    note: str
    price: float
    rush: bool


ORDER = Order(42, "pen", "x" * 190, 9.75, True)
"""256 bytes of JSON, about."""


class Arguments(NamedTuple):
    """The arguments of a program."""

    role: str
    url: str
    queue: str


def arguments() -> Arguments:
    """From the command line."""
    return Arguments(*sys.argv[1:4])


def headers(price: Any = Decimal("9.75")) -> dict[str, Any]:
    """The five properties; clients on pika send a decimal, because pika cannot write a float."""
    return {"customer": "c-4711", "number": 42, "sequence": 1 << 40, "price": price, "rush": True}


def check(length: int, number: object) -> None:
    """Check the length of a received body and one property."""
    if length != len(BODY) or number != 42:
        raise RuntimeError(f"a message of {length} characters with number {number!r} is not what was sent")


def check_order(order: Order) -> None:
    """Check a received object."""
    if order != ORDER:
        raise RuntimeError(f"{order} is not what was sent")


def serve(window: Callable[[int], object]) -> None:
    """Answer each number on standard input with the time that ``window`` takes for that many messages."""
    print("ready", flush=True)
    for line in sys.stdin:
        gc.collect()
        cpu, started = time.process_time(), time.perf_counter()
        window(int(line))
        print(time.perf_counter() - started, time.process_time() - cpu, flush=True)
