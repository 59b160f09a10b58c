"""What a task does where tasks are the consumers: it receives into its own segment of the log, and reads that.

A claim is a range of numbers of a lane, which Spark's offsets hold before any task runs. Its segment, once published,
is the only answer to it: a task that is repeated, or runs twice at a time, reads it and leaves the queue alone. In this
order: received; compared with what the log has and on disk, while no other task does that; acknowledged.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from jmsbridge import Connection, JMSException, Message, MessageConsumer
from jmsbridge.documents import size_of
from jmsbridge.spark.connections import Connections
from jmsbridge.spark.files import sync_folder
from jmsbridge.spark.ids import Group, ids_in
from jmsbridge.spark.log import LogError, Tally, low_of, publish, turn, uuid_of
from jmsbridge.spark.options import ReadOptions
from jmsbridge.spark.receiving import Confirmation, consumer_of, open_connection
from jmsbridge.spark.schema import DEDUP_ID, batch_of, id_of, load_arrow, log_schema
from jmsbridge.spark.slices import Slice

__all__ = ["Claim", "staged"]

log = logging.getLogger("jmsbridge.spark")

_LONGEST = 10.0
"""Seconds for which a task receives at most, however slowly the messages come."""
_COLUMN = log_schema().get_field_index(DEDUP_ID)


class Claim(msgspec.Struct, frozen=True):
    """Numbers ``start`` to ``end`` (not included) of a lane of the log ``uuid``, for at most so many messages.

    ``patience`` is how many seconds the first message is waited for; a task that gets none publishes no rows.
    """

    folder: str
    uuid: str
    lane: int
    start: int
    end: int
    patience: float

    @property
    def path(self) -> Path:
        """The segment, if it is published."""
        return Path(self.folder) / f"lane-{self.lane}" / f"{self.start:020}.arrow"


def staged(claim: Claim, options: ReadOptions) -> Slice:
    """The rows of a claim, received now unless they were before.

    LogError: this executor does not see the log, or the claim was processed long ago. Other errors: the messages are
    still the broker's.
    """
    folder = Path(claim.folder)
    if uuid_of(folder) != claim.uuid:
        raise LogError(
            f"this executor does not see the log in {folder}: with distributed=true walPath must be a folder that the "
            "driver and every executor share"
        )
    if not claim.path.exists():
        _fill(claim, options)
    with pa.memory_map(str(claim.path)) as source:
        count = pa.ipc.open_file(source).get_batch(0).num_rows
    return Slice(str(claim.path), claim.lane, claim.start, 0, count)


def _closed(pair: tuple[Connection, Confirmation]) -> None:
    pair[0].close()


def _started(options: ReadOptions) -> tuple[Connection, Confirmation]:
    connection, confirmation = open_connection(options)
    connection.start()
    return connection, confirmation


_connections: Connections[ReadOptions, tuple[Connection, Confirmation]] = Connections(_started, _closed)
_kept: dict[tuple[str, Path], pa.Array] = {}  # ids by log and file, which never changes


def _fill(claim: Claim, options: ReadOptions) -> None:
    """Publish the segment of a claim; what is not in it when this ends goes back to the broker."""
    load_arrow()
    connection, confirmation = _connections.get(options)
    try:
        with confirmation.session(connection) as session:
            consumer = consumer_of(session, options, claim.lane, claim.end - claim.start)
            received = _received(consumer, claim, options)
            if not _published(claim, received) or received.last is None:
                return
            try:
                confirmation.acknowledge(session, received.last)
            except JMSException as error:
                # They are in the log, and come again: their ids are kept until they do.
                log.info("the acknowledgement of %s failed: %s", claim.path, error)
                _connections.forget(options)
            else:
                Group(claim.path.with_suffix("")).mark(confirmed=confirmation.confirmed)
    except JMSException:
        _connections.forget(options)
        raise


class _Received(msgspec.Struct):
    """What a task has received, each id once."""

    messages: list[Message] = []
    ids: list[str | None] = []
    again: int = 0
    last: Message | None = None


def _received(consumer: MessageConsumer, claim: Claim, options: ReadOptions) -> _Received:
    """What there is, up to the size of a claim; ends when nothing comes."""
    found = _Received()
    own: set[str] = set()
    size = 0
    deadline = time.monotonic() + claim.patience + _LONGEST
    for _ in range(claim.end - claim.start):
        message = consumer.receive(timeout=options.receive_timeout if found.last else claim.patience)
        if message is None:
            break
        found.last = message
        identity = id_of(message, options.id_property)
        if identity is not None and identity in own:
            found.again += 1
        else:
            if identity is not None:
                own.add(identity)
            found.messages.append(message)
            found.ids.append(identity)
        size += size_of(message)
        if size * options.receivers >= options.max_bytes_per_trigger or time.monotonic() >= deadline:
            break
    return found


def _published(claim: Claim, received: _Received) -> bool:
    """Publish rows, without those that the log has already; False if the segment has been published meanwhile."""
    batch = batch_of(received.messages, received.ids)
    ids = batch.column(DEDUP_ID)
    with turn(Path(claim.folder)):
        new = batch.filter(pc.invert(pc.is_in(ids, value_set=_in_log(claim, ids.drop_null()))))
        tally = Tally(claim.end, received.again + batch.num_rows - new.num_rows, ids.null_count)
        try:
            publish(claim.path, tally.on(new), claim.path.with_suffix(f".{uuid4().hex}.new"))
        except FileExistsError:
            log.info("another attempt has published %s: what this one received goes back to the broker", claim.path)
            return False
        if low_of(claim.path.parent) > claim.start:  # after publishing: the name was free because it had been deleted
            claim.path.unlink()
            raise LogError(f"the rows of {claim.path} were processed and deleted: this attempt comes too late")
    return True


def _in_log(claim: Claim, ids: pa.Array) -> pa.Array:
    """Those of these ids that the log has, of messages that another task may have received, too.

    A link may be lost while its task holds them. Segments of batches that have ended do not count: who received their
    messages before that has ended as well, and what the broker may deliver again is in files of ids.
    """
    lanes = list(Path(claim.folder).glob("lane-*"))
    files = {(claim.uuid, path) for lane in lanes for path in _with_ids(lane)}
    for file in _kept.keys() - files:
        del _kept[file]
    for file in files - _kept.keys():
        with suppress(FileNotFoundError):  # its ids came again, or are too old
            _kept[file] = _ids_of(file[1])
    found = pa.chunked_array([_kept[file] for file in files & _kept.keys()], pa.string())
    again = found.filter(pc.is_in(found, value_set=ids)).combine_chunks()
    for lane in lanes if len(again) else ():
        sync_folder(lane)  # the task that has named their segment may have died before it knew that the name is on disk
    return again


def _with_ids(lane: Path) -> Iterator[Path]:
    """The files of a lane with the ids of messages that may come again."""
    low = low_of(lane)  # before the listing: ids are saved before a segment is below it
    for path in map(lane.joinpath, os.listdir(lane)):
        if path.suffix == ".ids" or (path.suffix == ".arrow" and int(path.stem) >= low):
            yield path


def _ids_of(path: Path) -> pa.Array:
    if path.suffix == ".arrow":
        with suppress(FileNotFoundError), pa.OSFile(str(path)) as source:
            options = pa.ipc.IpcReadOptions(included_fields=[_COLUMN])
            return pa.ipc.open_file(source, options=options).get_batch(0).column(0).drop_null()
    path = path.with_suffix(".ids")
    try:
        return pa.array(ids_in(path), pa.string())
    except msgspec.MsgspecError as error:
        raise LogError(f"{path} is damaged: {error}; start the query again") from None
