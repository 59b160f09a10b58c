"""The log of a stream: what was received is written here before the broker is told, and read from here by Spark.

A folder with ``log.json`` (which log this is, and of which source), and a lane per receiver::

    lane-0/low                        rows below this number were processed, and deleted
    lane-0/00000000000000001500.arrow rows from 1,500 on: a segment, complete and on disk once it has this name
    lane-0/00000000000000001500.acked the broker was told; missing if that is not known
    lane-0/00000000000000001500.ids   of a segment that is deleted: ids that the broker may still deliver again

A segment that a task has received has its last number in it, since it may have fewer rows than numbers.

Knows nothing of Spark or of brokers. One driver has a log at a time; its tasks may publish segments, and any process
reads it.
"""

import fcntl
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from jmsbridge.spark.files import sync_folder, write_whole
from jmsbridge.spark.ids import Group, KeptIds
from jmsbridge.spark.schema import DEDUP_ID

__all__ = ["Lane", "Log", "LogError", "Segment", "Tally", "Written", "low_of", "publish", "turn", "uuid_of"]

log = logging.getLogger("jmsbridge.spark")

_FORMAT = 1
_TALLY = b"jmsbridge"
"""The note's name in the file."""
_TAKEOVER = 10.0
"""Seconds that a driver waits for the one before it to let go of the log."""
_TURN = 120.0
"""Seconds that a task waits for others to publish; a server of NFS knows after 90 that a machine is gone."""


class LogError(Exception):
    """The log cannot be used, or does not have what it should: going on would lose messages."""


class Segment(msgspec.Struct):
    """Rows ``start`` to ``end`` (not included) of a lane, in one file."""

    path: Path
    start: int
    end: int
    size: int
    rows: int
    tally: "Tally | None" = None
    """Of a segment that a task has received."""


class Tally(msgspec.Struct, frozen=True):
    """What a task notes in its segment, of which not every number up to ``end`` needs to be a row."""

    end: int
    again: int
    """Messages that were left out, because the log has them."""
    without_id: int

    def on(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with this note."""
        return batch.replace_schema_metadata({_TALLY: msgspec.json.encode(self)})


class Written(msgspec.Struct, frozen=True):
    """What became of a batch: so many rows of it are new; the ids of the others, which the log has already."""

    group: Group | None
    """The ids of the rows, to be told of their acknowledgement; None without a row."""
    rows: int
    again: Sequence[str]


class _Header(msgspec.Struct, frozen=True):
    format: int
    log: str
    source: dict[str, Any]


class Lane:
    """The segments of one receiver, which alone appends to it. Thread-safe."""

    def __init__(self, folder: Path, number: int, lost: Callable[[str], None]) -> None:
        self.number = number
        self._lost = lost
        self.folder = folder / f"lane-{number}"
        self.folder.mkdir(exist_ok=True)
        self.low = low_of(self.folder)
        self._changing = threading.Lock()  # guards the list: receivers append, the main thread deletes
        self._segments = list(self._found(self.low))
        self.end = self._segments[-1].end if self._segments else self.low

    @property
    def segments(self) -> list[Segment]:
        """Those that were not deleted, as they are now."""
        with self._changing:
            return list(self._segments)

    def _found(self, at: int, first: int = 0) -> Iterator[Segment]:
        """The segments on disk, which must follow each other from ``at`` on, without what a crash left over.

        Files with numbers below ``first`` are not looked at.
        """
        for path in sorted(self.folder.glob("*.arrow")):
            start = int(path.stem)
            if start < first:
                continue
            try:
                segment = _opened(path)
            except LogError as error:
                if start < self.low and not path.exists():
                    continue  # of an attempt that was too late, and has taken it away
                self._lost(str(error))
                path.replace(path.with_suffix(".damaged"))
                continue
            if segment.end <= self.low:
                continue
            self._check_next(at, segment.start)
            at = segment.end
            yield segment

    def _check_next(self, at: int, start: int) -> None:
        if start > at:
            self._lost(f"rows {at} to {start} are missing in {self.folder}")

    def append(self, batch: pa.RecordBatch) -> Segment:
        """Write a segment; it is on disk when this returns. LogError: acknowledge nothing."""
        path = self.folder / f"{self.end:020}.arrow"
        try:
            size = publish(path, batch, path.with_suffix(".new"))
        except FileExistsError:
            raise LogError(f"another query writes to this log: {path} exists") from None
        segment = Segment(path, self.end, self.end + batch.num_rows, size, batch.num_rows)
        self._add([segment])
        return segment

    def refresh(self) -> list[Segment]:
        """The segments that tasks have published since; LogError if they do not follow the others."""
        new = list(self._found(self.end, self.end))
        if new:
            self._add(new)
        return new

    def _add(self, new: list[Segment]) -> None:
        with self._changing:
            self._segments += new
            self.end = new[-1].end

    def check(self, start: int, end: int) -> None:
        """LogError if the lane begins behind ``start``, or ends before ``end``: new rows would get its numbers."""
        if start < self.low:
            self._lost(
                f"rows {start} to {self.low} of {self.folder} were deleted: this checkpoint belongs to another log, "
                "or to an earlier state of it"
            )
        if end > self.end:
            self._lost(f"{self.folder} ends at row {self.end}, but the checkpoint has rows until {end}")
            self.end = end

    def covering(self, start: int, end: int) -> list[Segment]:
        """The segments with these rows, all there; LogError otherwise."""
        self.check(start, end)
        found, at = [], max(start, self.low)
        for segment in self.segments:
            if segment.end <= at or segment.start >= end:
                continue
            if not segment.path.exists():
                self._lost(f"rows {segment.start} to {segment.end} are missing: {segment.path} is gone")
            else:
                self._check_next(at, segment.start)
                found.append(segment)
            at = segment.end
        self._check_next(at, end)
        return found

    def set_low(self, low: int) -> list[Segment]:
        """Rows below ``low`` are not needed any more; returns the segments to delete."""
        if low <= self.low:
            return []
        write_whole(self.folder / "low", str(low).encode())
        self.low = low
        with self._changing:
            gone = [each for each in self._segments if each.end <= low]
            self._segments = [each for each in self._segments if each.end > low]
        return gone


class Log:
    """A log that this process writes. Thread-safe, but one thread at a time appends to a lane.

    What is lost of it raises LogError, or with ``fail_on_loss=False`` is noted in ``losses`` and left out.
    """

    def __init__(
        self, folder: Path, source: dict[str, Any], lanes: int, retention: float, *, fail_on_loss: bool = True
    ) -> None:
        self.folder = folder = folder.absolute()  # tasks read it in processes with other working folders
        self._fail_on_loss = fail_on_loss
        self.losses: list[str] = []
        """What is missing, and was left out."""
        self._turn = threading.Lock()
        """From the comparison of a batch with the ids until its own ones are among them."""
        self._in_doubt: Path | None = None
        """A segment that has its name, and may not be on disk: its rows may be neither written again nor dropped."""
        self._lock = _taken(folder)
        if self._lock is None:
            raise LogError(f"another query uses the log in {folder}: each query needs a walPath of its own")
        try:
            self.uuid = _header(folder, source).log
            found = [int(path.name.partition("-")[2]) for path in folder.glob("lane-*")]
            count = max([lanes, *(number + 1 for number in found)])
            self.lanes = [Lane(folder, number, self.lost) for number in range(count)]
            sync_folder(folder)
            for lane in self.lanes:
                sync_folder(lane.folder)  # of a segment that was found there it may not be on disk that it is there
            self.ids = KeptIds(retention)
            for lane in self.lanes:
                self._recover(lane)
        except BaseException:
            self.close()
            raise

    def lost(self, text: str) -> None:
        """A part of the log is lost, or does not belong to the checkpoint."""
        if self._fail_on_loss:
            raise LogError(f"{text} (failOnDataLoss=false goes on without what is missing)")
        if text not in self.losses:
            self.losses.append(text)
            log.warning("%s; the query goes on without it (failOnDataLoss=false)", text)

    def _recover(self, lane: Lane) -> None:
        """Load the ids that may come again, and remove what a crash left behind."""
        kept = {segment.path.stem for segment in lane.segments}
        for path in lane.folder.glob("*.new"):
            path.unlink()
        for path in sorted(lane.folder.glob("*.ids")):
            try:
                self.ids.load(path)
            except msgspec.MsgspecError as error:
                self.lost(f"{path} is damaged: {error}; its messages may come again")
                path.unlink()
        for path in lane.folder.glob("*.acked"):
            if path.stem not in kept and int(path.stem) >= lane.low:
                self.lost(f"{path.with_suffix('.arrow')} is gone, whose messages the broker has deleted")
            if not path.with_suffix(".arrow").exists():
                path.unlink()
        for segment in lane.segments:
            self._keep_ids(segment)
        for path in sorted(lane.folder.glob("*.arrow")):
            if path.stem not in kept:  # its ids were saved before it became superfluous
                self._delete(path)

    def _keep_ids(self, segment: Segment) -> None:
        group = Group.of_segment(segment.path)
        if group is not None:
            self.ids.add(group, _ids_of(segment.path))

    def refresh(self) -> list[Segment]:
        """The segments that tasks have published since the last call."""
        new = [segment for lane in self.lanes for segment in lane.refresh()]
        for segment in new:
            self._keep_ids(segment)
        self.ids.expire()
        return new

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for lane in self.lanes for segment in lane.segments)

    def append(self, lane: Lane, batch: pa.RecordBatch) -> Written:
        """Write a segment with what the log does not have yet; LogError: acknowledge nothing.

        Receivers take turns, and an id counts once its segment is on disk: of two that hold a message, one writes it.
        """
        with self._turn:
            if self._in_doubt is not None:
                raise LogError(f"it is not known whether {self._in_doubt} is on disk: start the query again")
            ids = batch.column(DEDUP_ID).to_pylist()
            new = self.ids.are_new(ids)
            again = [str(each) for each, is_new in zip(ids, new, strict=True) if not is_new]
            rows = batch.filter(pa.array(new)) if again else batch
            if not rows.num_rows:
                return Written(None, 0, again)
            group = Group(lane.folder / f"{lane.end:020}")
            self._write(lane, rows)
            self.ids.add(group, [each for each in rows.column(DEDUP_ID).to_pylist() if each is not None])
        return Written(group, rows.num_rows, again)

    def _write(self, lane: Lane, rows: pa.RecordBatch) -> None:
        path = lane.folder / f"{lane.end:020}.arrow"
        try:
            lane.append(rows)
        except BaseException:
            if os.path.lexists(path):
                self._in_doubt = path
            raise

    def release(self, low: dict[int, int]) -> None:
        """Spark has processed these lanes up to these rows: remember it first, then delete. May be called again.

        Ids that are still needed are saved before that: tasks ignore segments below ``low``.
        """
        for lane in self.lanes:
            until = low.get(lane.number, 0)
            for segment in lane.segments:
                if segment.end <= until:
                    self.ids.save(segment.path.with_suffix(""))
            for segment in lane.set_low(until):
                self._delete(segment.path)

    def _delete(self, path: Path) -> None:
        for each in (path, path.with_suffix(".acked")):
            each.unlink(missing_ok=True)

    def close(self) -> None:
        """Let another process write the log. Idempotent."""
        handle, self._lock = self._lock, None
        if handle is not None:
            os.close(handle)


def publish(path: Path, batch: pa.RecordBatch, new: Path) -> int:
    """Write a segment, which is complete and on disk once it has its name; the size of the file.

    It is called ``new`` until then. FileExistsError: another process was first, and nothing was changed. LogError: it
    is not known to be on disk, acknowledge nothing.
    """
    try:
        size = _write_segment(new, batch)
        os.link(new, path)  # fails if the name exists, where a rename would replace the other's rows
        sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise LogError(f"cannot write {path}: {error.strerror}; the broker keeps its messages") from error
    finally:
        new.unlink(missing_ok=True)
    return size


def low_of(lane: Path) -> int:
    """The number below which rows of this lane are processed."""
    path = lane / "low"
    try:
        return int(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0
    except ValueError:
        raise LogError(f"{path} is damaged: it must hold a number") from None


def uuid_of(folder: Path) -> str | None:
    """Which log is in this folder; None if there is none."""
    path = folder / "log.json"
    return _read_header(path).log if path.exists() else None


def _write_segment(path: Path, batch: pa.RecordBatch) -> int:
    """Its size, once it is on disk."""
    with path.open("wb") as file:
        with pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """One task at a time compares its messages with this log and publishes them; LogError: others do not end."""
    handle = _locked(folder / "turn", _TURN)
    if handle is None:
        raise LogError(f"other tasks have held {folder / 'turn'} for {_TURN:g} s: is the folder of the log very slow?")
    try:
        yield
    finally:
        os.close(handle)


def _taken(folder: Path) -> int | None:
    """The lock of a log, whose folder is made if it does not exist; None if another query has it."""
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        return _locked(folder / "lock", _TAKEOVER)
    except OSError as error:
        raise LogError(f"the log cannot be in {folder} (walPath): {error.strerror}") from None


def _locked(path: Path, seconds: float) -> int | None:
    """A lock that ends with the process, if not by closing it; None if others hold it for so long."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(handle)
                return None
            time.sleep(0.01)  # sleep: a lock on a file wakes nobody


def _header(folder: Path, source: dict[str, Any]) -> _Header:
    path = folder / "log.json"
    if not path.exists():
        if any(folder.glob("lane-*")):
            raise LogError(f"{folder} has messages, but no log.json: it is damaged")
        write_whole(path, msgspec.json.encode(_Header(_FORMAT, str(uuid.uuid4()), source)))
    header = _read_header(path)
    if header.format != _FORMAT:
        raise LogError(f"{folder} has format {header.format}, and this version reads format {_FORMAT}")
    if header.source == source:
        return header
    if any(folder.glob("lane-*/*")):
        raise LogError(
            f"the log in {folder} is of another source: {header.source}, not {source}: give the options that it was "
            "begun with, or a new walPath, with a new checkpoint"
        )
    header = msgspec.structs.replace(header, source=source)  # it never had a row: the options were wrong before
    write_whole(path, msgspec.json.encode(header))
    return header


def _read_header(path: Path) -> _Header:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Header)
    except msgspec.MsgspecError as error:
        raise LogError(f"{path} is damaged: {error}") from None


def _opened(path: Path) -> Segment:
    start = int(path.stem)
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            rows = reader.get_batch(0).num_rows
            note = (reader.schema.metadata or {}).get(_TALLY)
    except (pa.ArrowInvalid, OSError) as error:
        raise LogError(f"the segment {path} is damaged: {error}") from None
    tally = None if note is None else msgspec.json.decode(note, type=Tally)
    end = start + rows if tally is None else tally.end
    return Segment(path, start, end, path.stat().st_size, rows, tally)


def _ids_of(path: Path) -> Sequence[str]:
    with pa.memory_map(str(path)) as source:
        column = pa.ipc.open_file(source).get_batch(0).column(DEDUP_ID)
        return [each for each in column.to_pylist() if each is not None]
