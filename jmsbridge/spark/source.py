"""The data source ``jms`` of PySpark."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from jmsbridge.errors import ConfigurationError, UnsupportedFeatureException
from jmsbridge.spark.options import ReadOptions, read_options
from jmsbridge.spark.schema import ddl, types
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
        options = read_options(self.options)
        return ddl(options.body_format, options.include_properties)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The stream of a queue or durable subscription."""
        options = read_options(self.options)
        return JmsStreamReader(options, _columns(options, schema))

    def reader(self, schema: StructType) -> Any:
        """Not yet: batch reading browses."""
        raise UnsupportedFeatureException("format('jms') can be read as a stream only: use spark.readStream")


def _columns(options: ReadOptions, schema: StructType) -> Sequence[str]:
    own = types(options.body_format, options.include_properties)
    for field in schema:
        kind = field.dataType.simpleString()
        if field.name not in own:
            raise ConfigurationError(f"a message has no column {field.name!r}; it has {', '.join(own)}")
        if own[field.name] != kind:
            raise ConfigurationError(f"the column {field.name} is {own[field.name]}, not {kind}")
    return list(schema.names)
