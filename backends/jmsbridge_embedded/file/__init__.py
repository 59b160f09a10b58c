"""The embedded broker in a file: several processes of one host share queues and topics, with no server.

All state that the processes share is in the SQLite file; there is no leader. Each process has one ``Store`` per file,
with one thread that owns the connection. Verbs put operations into its queue; it runs all that wait in one transaction,
so that they share one fsync, and answers tickets after COMMIT. Requires POSIX file locks and Unix sockets: Linux or
macOS.

Start reading at ``store``. ``channel`` and ``consumer`` implement the verbs inside a transaction, ``dispatch`` decides
which consumer gets which message, ``disk`` has the SQL, ``presence`` and ``nodes`` track the other processes.
"""

from jmsbridge_embedded.file.registry import abandon_all, after_fork, before_fork, cut, open_link

__all__ = ["abandon_all", "after_fork", "before_fork", "cut", "open_link"]
