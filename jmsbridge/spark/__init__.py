"""Queues and topics in Spark: ``spark.readStream.format("jms")``. Needs the extra ``spark``.

Nothing is imported here: Spark imports the data source in many processes.
"""

__all__: list[str] = []
