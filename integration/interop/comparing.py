"""A message as it was sent beside the same message as it was read: what differs and is not listed."""

from integration.interop.describing import Description
from integration.interop.differences import Direction, expected
from integration.interop.matrix import Sample
from integration.interop.rows import Row

__all__ = ["unlisted"]


def unlisted(
    row: Row, direction: Direction, sample: Sample, sent: Description, seen: Description
) -> tuple[dict[str, str], set[str]]:
    """The cells that differ without being listed, and the reasons of the listed differences that were met."""
    if "error" in seen:
        return {"error": seen["error"]}, set()
    listed = [each for each in row.differences if each.direction == direction]
    wanted, met = expected(sample, sent, seen, listed)
    if not isinstance(sample.correlation, bytes):
        wanted["correlation_bytes"] = seen["correlation_bytes"]  # not all clients show a text as bytes
    cells = {name: f"{value!r} arrives as {seen[name]!r}" for name, value in wanted.items() if value != seen[name]}
    return cells, met
