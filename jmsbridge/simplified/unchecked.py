"""Translation of the classic API's exceptions into those of the simplified API."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from jmsbridge.errors import JMSException, unchecked

__all__ = ["simplified"]

P = ParamSpec("P")
R = TypeVar("R")


def simplified(method: Callable[P, R]) -> Callable[P, R]:
    """Decorates a method to raise unchecked twins instead of classic exceptions (section 8.9)."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except JMSException as error:
            raise unchecked(error) from error

    return call
