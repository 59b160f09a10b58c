"""Types as annotations write them."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

__all__ = ["is_union", "without_none"]


def is_union(kind: Any) -> bool:
    """Whether it is ``A | B``."""
    return get_origin(kind) in (Union, UnionType)


def without_none(kind: Any) -> tuple[Any, bool]:
    """The type without ``None``, and whether that was allowed; None for one that allows everything."""
    if kind is Any or kind is object:
        return None, False
    if isinstance(kind, type) or not is_union(kind) or NoneType not in get_args(kind):
        return kind, False
    rest = tuple(each for each in get_args(kind) if each is not NoneType)
    return Union[rest], True  # noqa: UP007 - of types that are known only now
