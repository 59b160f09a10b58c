"""The promises that contract cases test, quoted from the SPI."""

import inspect
import re
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from jmsbridge.spi import backend, envelope, native
from jmsbridge.spi.envelope import Outcome
from jmsbridge.spi.native import Native

__all__ = ["Promise", "capabilities", "promises", "quoted"]

Promise = int | Outcome | Native | Callable[..., Any]
"""A number in the list of ``jmsbridge.spi.backend``, an outcome, a capability, or a verb (for its docstring)."""


def quoted(promise: Promise) -> str:
    """The place and text of a promise."""
    if isinstance(promise, int):
        return f"promise {promise} of jmsbridge.spi.backend: {promises()[promise]}"
    if isinstance(promise, Native):
        return f"{promise.name} of jmsbridge.spi.Native: {capabilities()[promise]}"
    if isinstance(promise, Outcome):
        return f"{promise.name} of jmsbridge.spi.Outcome: {_comments(envelope)[promise.name]}"
    text = re.sub(r"\s+", " ", inspect.getdoc(promise) or "").rstrip(".")
    return f"{promise.__qualname__} of {promise.__module__}: {text}"


@cache
def promises() -> dict[int, str]:
    """The numbered promises of a backend, from the docstring that states them."""
    numbered = re.findall(r"^(\d+)\. (.*(?:\n {3,}.*)*)", inspect.cleandoc(backend.__doc__ or ""), re.MULTILINE)
    return {int(number): re.sub(r"\s+", " ", text).rstrip(";.") for number, text in numbered}


@cache
def capabilities() -> dict[Native, str]:
    """What each capability promises, from the comments of its enumeration."""
    return {Native[name]: text for name, text in _comments(native).items() if name in Native.__members__}


@cache
def _comments(module: ModuleType) -> dict[str, str]:
    """The members of enumerations, each with the comment beside it."""
    return dict(re.findall(r"^    ([A-Z_]+) = .*?  # (.*)$", inspect.getsource(module), re.MULTILINE))
