"""The message of the benchmark for proton, with the types that Java reads: an int, a long and a double."""

from typing import Any

from proton import Message, int32

from integration.bench.clients.protocol import BODY, check, headers

__all__ = ["MECHANISMS", "check_message", "message"]

MECHANISMS = "PLAIN ANONYMOUS"
"""Not EXTERNAL, which proton prefers and which needs a client certificate."""


def message() -> Any:
    """A new one, persistent."""
    return Message(body=BODY, durable=True, properties={**headers(9.75), "number": int32(42)})


def check_message(received: Any) -> None:
    """Read its text and one property."""
    check(len(received.body), received.properties["number"])
