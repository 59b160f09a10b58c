"""Spark imports every package named ``pyspark_…``: so it finds ``format("jms")`` without registration."""

from jmsbridge.spark.source import JmsDataSource as DefaultSource

__all__ = ["DefaultSource"]
