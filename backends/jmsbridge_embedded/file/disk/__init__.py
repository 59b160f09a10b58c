"""The file's contents: tables, SQL, the encoding of messages, and the write-ahead log."""

__all__: list[str] = []
