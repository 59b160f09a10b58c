"""What reaches the disk: the tables, the SQL on them, messages as bytes, and the write-ahead log."""

__all__: list[str] = []
