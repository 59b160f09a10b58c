"""The embedded broker in a file: several processes of one host share queues and topics, with no server.

The SQLite file is the truth and all that the processes share; there is no leader. Each process has one ``Store`` per
file with one thread that owns the connection. Verbs put operations into its queue; it runs as many as wait in one
transaction, so that they share one fsync, and answers tickets after COMMIT. It needs POSIX file locks and Unix sockets,
so Linux or macOS.

Start reading at ``store``. ``channel`` and ``consumer`` say what each verb does inside the transaction, ``dispatch``
which consumer gets which message; ``disk`` holds the SQL; ``presence`` and ``nodes`` know which processes live.
"""

from jmsbridge_embedded.file.registry import abandon_all, cut, fork_lock, open_link

__all__ = ["abandon_all", "cut", "fork_lock", "open_link"]
