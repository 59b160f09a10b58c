"""The writers of ``format("jms")``: Spark's calls around ``sending``, in batches of Arrow.

Tasks send, and end only when the broker has confirmed every row. The driver has nothing to do at the end but to count:
a message that was sent cannot be taken back.
"""

import logging
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from jmsbridge.config import mask_url
from jmsbridge.spark.options import WriteOptions
from jmsbridge.spark.sending import Sender, Sent, cached, check_ids, forget

__all__ = ["JmsStreamWriter", "JmsWriter", "TaskSent"]

log = logging.getLogger("jmsbridge.spark")


class TaskSent(WriterCommitMessage):
    """What one task has sent."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent


def _write(options: WriteOptions, batches: Iterator[pa.RecordBatch]) -> TaskSent:
    try:
        sender = Sender(options, cached(options))
        try:
            for batch in batches:
                sender.send(batch)
            return TaskSent(sender.finish())
        finally:
            sender.close()
    except BaseException:
        forget(options)
        raise


def _finished(options: WriteOptions, messages: Sequence[TaskSent | None], what: str) -> None:
    all_sent = [message.sent for message in messages if message is not None]
    rows = sum(sent.rows for sent in all_sent)
    guarantees = sorted({sent.guarantee for sent in all_sent if sent.rows})
    log.info("%s: %s rows sent to %s, %s", what, rows, mask_url(options.url), ", ".join(guarantees) or "no rows")
    check_ids(options, all_sent)


def _failed(options: WriteOptions, messages: Sequence[TaskSent | None], what: str) -> None:
    rows = sum(message.sent.rows for message in messages if message is not None)
    log.warning(
        "%s failed; %s rows of its finished tasks are at %s already, and stay there", what, rows, mask_url(options.url)
    )


class JmsWriter(DataSourceArrowWriter):
    """Writes a DataFrame."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskSent:
        """Send the rows of one task."""
        return _write(self._options, iterator)

    def commit(self, messages: Sequence[TaskSent | None]) -> None:
        """All tasks have sent their rows."""
        _finished(self._options, messages, "the write")

    def abort(self, messages: Sequence[TaskSent | None]) -> None:
        """A task has failed for good."""
        _failed(self._options, messages, "the write")


class JmsStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskSent:
        """Send the rows of one task."""
        return _write(self._options, iterator)

    def commit(self, messages: Sequence[TaskSent | None], batchId: int) -> None:
        """All tasks of a batch have sent their rows."""
        _finished(self._options, messages, f"batch {batchId}")

    def abort(self, messages: Sequence[TaskSent | None], batchId: int) -> None:
        """A task of a batch has failed for good."""
        _failed(self._options, messages, f"batch {batchId}")
