"""The batch reader: shows what is in a queue, and consumes nothing.

It browses again for each action on the DataFrame, so two actions may see different messages.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from jmsbridge import Queue
from jmsbridge.config import mask_url
from jmsbridge.documents import destination_named
from jmsbridge.errors import UnsupportedFeatureException
from jmsbridge.spark.options import BrowseOptions, connect
from jmsbridge.spark.schema import Row, batch_of, columns_of, row_of

__all__ = ["JmsReader", "shown"]

_ROWS = 1000
_BYTES = 16 * 1024 * 1024
_BODY = 2  # the place of the body in a row


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
        queue = destination_named(str(options.queue))
        assert isinstance(queue, Queue)
        rows: list[Row] = []
        first = size = 0
        for message in connection.create_session().create_browser(queue, options.selector):
            rows.append(row_of(message, None))
            size += len(rows[-1][_BODY] or b"")
            if len(rows) == _ROWS or size >= _BYTES:
                yield columns_of(batch_of(rows), columns, first, 0, options.body_format, options.decode_errors)
                first, size, rows = first + len(rows), 0, []
        if rows:
            yield columns_of(batch_of(rows), columns, first, 0, options.body_format, options.decode_errors)


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
