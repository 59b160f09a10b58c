"""What the supervising process tells a worker process, and what that tells it every second."""

from typing import Any

import msgspec

from jmsbridge.app import Status

__all__ = ["ENDED_ITSELF", "VARIABLE", "Order", "Report", "module_and_attribute"]

VARIABLE = "JMSBRIDGE_WORKER"
"""The environment variable with the order; the environment of a process is as secret as its command line is not."""


ENDED_ITSELF = 5
"""The exit code of a worker process whose application asked to stop, and that has stopped in order."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process is to serve. ``given`` are options that go before the application's own."""

    app: str
    number: int
    pipe: int
    target: str | None = None
    given: dict[str, Any] = {}
    stop_timeout: float | None = None
    json_lines: bool = True
    asking: int = -1
    """The pipe of which each byte asks for the depths."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker process is doing. ``grace`` is how long its end may take, in seconds."""

    status: Status
    grace: float


def module_and_attribute(text: str) -> tuple[str, str]:
    """Module and attribute of ``shop.listeners:app``; the attribute is ``app`` if it is not said."""
    module, _, attribute = text.partition(":")
    return module, attribute or "app"
