"""The batch reader: shows what is in a queue, and consumes nothing.

It browses again for each action on the DataFrame, so two actions may see different messages.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from jmsbridge import Message, Queue
from jmsbridge.config import mask_url
from jmsbridge.documents import size_of
from jmsbridge.errors import UnsupportedFeatureException
from jmsbridge.spark.options import BrowseOptions, connect, named
from jmsbridge.spark.schema import batch_of, columns_of

__all__ = ["JmsReader", "shown"]

_ROWS = 1000
_BYTES = 16 * 1024 * 1024


def shown(options: BrowseOptions, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The messages of the queue in order; UnsupportedFeature where the broker has no browsers of its own."""
    with connect(options) as connection:
        feature = connection.capabilities["browse"]
        if feature.outcome != "native":
            raise UnsupportedFeatureException(
                f"the broker at {mask_url(options.url)} cannot show a queue without taking its messages "
                f"({feature.price}): consume it with spark.readStream or jmsbridge.spark.pipelines.drain",
                "browse",
            )
        queue = named(str(options.queue))
        assert isinstance(queue, Queue)
        messages: list[Message] = []
        first = size = 0
        for message in connection.create_session().create_browser(queue, options.selector):
            messages.append(message)
            size += size_of(message)
            if len(messages) == _ROWS or size >= _BYTES:
                yield _columns(messages, columns, first, options)
                first, size, messages = first + len(messages), 0, []
        if messages:
            yield _columns(messages, columns, first, options)


def _columns(messages: Sequence[Message], columns: Sequence[str], first: int, options: BrowseOptions) -> pa.RecordBatch:
    batch = batch_of(messages, [None] * len(messages))
    return columns_of(batch, columns, first, 0, options.body_format, options.decode_errors)


class JmsReader(DataSourceReader):
    """Browses in one task."""

    def __init__(self, options: BrowseOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """One task: a queue has one order."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Browse the queue."""
        return shown(self._options, self._columns)
