"""Parts of segments, as tasks get and read them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from jmsbridge.spark.log import Log, LogError
from jmsbridge.spark.schema import columns_of

__all__ = ["Slice", "rows_of", "slices"]


class Slice(msgspec.Struct, frozen=True):
    """``count`` rows of a segment from ``first`` on. ``data`` are these rows alone if they travel with the task."""

    path: str
    lane: int
    segment: int
    first: int
    count: int
    data: bytes | None = None


def slices(
    journal: Log, start: dict[int, int], end: dict[int, int], most: int, *, inline: bool
) -> Sequence[Sequence[Slice]]:
    """The rows of a batch for at most ``most`` tasks, each with about as many."""
    total = sum(until - start[lane] for lane, until in end.items())
    share = max(1, -(-total // most))
    tasks: list[list[Slice]] = [[]]
    room = share
    for lane in journal.lanes:
        for segment in lane.covering(start[lane.number], end[lane.number]):
            at, until = max(segment.start, start[lane.number]), min(segment.end, end[lane.number])
            while at < until:
                if not room:
                    tasks.append([])
                    room = share
                count = min(room, until - at)
                part = Slice(str(segment.path), lane.number, segment.start, at - segment.start, count)
                tasks[-1].append(_with_rows(part) if inline else part)
                at += count
                room -= count
    return [task for task in tasks if task]


def rows_of(part: Slice, columns: Sequence[str], body_format: str, decode_errors: str) -> pa.RecordBatch:
    """The rows of a part with these columns."""
    batch = _from_file(part) if part.data is None else pa.ipc.open_stream(part.data).read_next_batch()
    return columns_of(batch, columns, part.segment + part.first, part.lane, body_format, decode_errors)


def _from_file(part: Slice) -> pa.RecordBatch:
    try:
        with pa.memory_map(part.path) as source:
            return pa.ipc.open_file(source).get_batch(0).slice(part.first, part.count)
    except FileNotFoundError:
        where = Path(part.path).parent.parent
        raise LogError(
            f"this executor does not see {part.path}: put walPath ({where}) where every executor can read it, "
            'or set walTransport to "inline"'
        ) from None


def _with_rows(part: Slice) -> Slice:
    batch = _from_file(part)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return msgspec.structs.replace(part, data=sink.getvalue().to_pybytes())
