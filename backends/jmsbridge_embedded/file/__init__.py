"""The embedded broker in a file: several processes of one host share queues and topics, with no server.

The SQLite file is the truth and all that the processes share; there is no leader. Each process has one ``Store`` per
file with one thread that owns the connection. Verbs put operations into its queue; it runs as many as wait in one
transaction, so that they share one fsync, and answers tickets after COMMIT.

Start reading at ``store``. ``operations`` says what each verb does inside the transaction, ``dispatch`` who gets which
message, ``catalog`` and ``entries`` hold the SQL, ``node`` knows which processes live.
"""

from jmsbridge_embedded.file.registry import abandon_all, cut, fork_lock, open_link

__all__ = ["abandon_all", "cut", "fork_lock", "open_link"]
