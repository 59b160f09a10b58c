"""AMQP 0-9-1 field tables with JMS types both ways; pika has no floats and no small integers.

Pure functions on bytes.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["Malformed", "Unencodable", "decode_table", "encode_table"]


class Malformed(ValueError):
    """The bytes are no AMQP 0-9-1; the only error that decoders of this package raise."""


class Unencodable(ValueError):
    """A value has no place in an AMQP 0-9-1 frame; the only error that encoders of this package raise."""


def encode_table(table: Mapping[str, Any]) -> bytes:
    """A field table with its length: canonical JMS values, also bytes, lists and mappings."""


def decode_table(data: bytes, offset: int = 0) -> tuple[dict[str, Any], int]:
    """The table at ``offset`` and the offset behind it; values are canonical where JMS has the type."""
