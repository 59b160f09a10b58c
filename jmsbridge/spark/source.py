"""The data source ``jms`` of PySpark."""

from collections.abc import Sequence

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.distributed import DistributedReader
from jmsbridge.spark.options import (
    BrowseOptions,
    WriteOptions,
    browse_options,
    columns_options,
    read_options,
    write_options,
)
from jmsbridge.spark.position_options import PositionOptions, by_position, position_options
from jmsbridge.spark.positions import PositionReader, PositionStreamReader
from jmsbridge.spark.rows import check_columns
from jmsbridge.spark.schema import ddl, types
from jmsbridge.spark.showing import JmsReader
from jmsbridge.spark.sink import JmsStreamWriter, JmsWriter
from jmsbridge.spark.stream import JmsStreamReader

__all__ = ["JmsDataSource"]


class JmsDataSource(DataSource):
    """``format("jms")``. Constructors of data sources run in several processes, so nothing connects here."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format``."""
        return "jms"

    def schema(self) -> str:
        """All columns; a stream may be given a schema with some of them."""
        if by_position(self.options):
            found = position_options(self.options)
            return ddl(found.body_format, found.include_properties, by_position=True)
        options = columns_options(self.options)
        return ddl(options.body_format, options.include_properties)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The stream of a queue or durable subscription, or of a destination by position."""
        if by_position(self.options):
            found = position_options(self.options, streams=True)
            return PositionStreamReader(found, _columns(found, schema))
        options = read_options(self.options)
        kind = DistributedReader if options.distributed else JmsStreamReader
        return kind(options, _columns(options, schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        """What is in a queue, or in a range of a destination; it stays there."""
        if by_position(self.options):
            found = position_options(self.options, streams=False)
            return PositionReader(found, _columns(found, schema))
        options = browse_options(self.options)
        return JmsReader(options, _columns(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Sends the rows of a DataFrame; only mode "append": nothing is removed from a queue."""
        return JmsWriter(self._write_options(schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Sends the rows of a stream; only in output mode "append"."""
        return JmsStreamWriter(self._write_options(schema, overwrite))

    def _write_options(self, schema: StructType, overwrite: bool) -> WriteOptions:
        if overwrite:
            raise ConfigurationError('rows can only be added to a queue: use mode("append"), outputMode("append")')
        options = write_options(self.options)
        check_columns({field.name: field.dataType.simpleString() for field in schema}, options.dedup_column)
        return options


def _columns(options: BrowseOptions | PositionOptions, schema: StructType) -> Sequence[str]:
    by_positions = isinstance(options, PositionOptions)
    own = types(options.body_format, options.include_properties, by_position=by_positions)
    for field in schema:
        kind = field.dataType.simpleString()
        if field.name not in own:
            raise ConfigurationError(f"a message has no column {field.name!r}; it has {', '.join(own)}")
        if own[field.name] != kind:
            raise ConfigurationError(f"the column {field.name} is {own[field.name]}, not {kind}")
    return list(schema.names)
