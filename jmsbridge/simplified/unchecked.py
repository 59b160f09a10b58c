"""Turning the classic API's exceptions into the simplified API's, at its border."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from jmsbridge.errors import JMSException, unchecked

__all__ = ["simplified"]

P = ParamSpec("P")
R = TypeVar("R")


def simplified(method: Callable[P, R]) -> Callable[P, R]:
    """A method that raises unchecked twins instead of classic exceptions (section 8.9)."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except JMSException as error:
            raise unchecked(error) from error

    return call
