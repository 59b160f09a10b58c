"""What is compared: each row is one program in one role."""

import msgspec

__all__ = ["LOADER", "OURS", "ROWS", "Row", "chosen"]

OURS = "ours"
_SLOW, _MIDDLE, _FAST = 3_000, 12_000, 40_000  # messages per window: two seconds or so
_LONG = 80_000  # three: what is sustained, since the Java client slows down with what a session has sent


class Row(msgspec.Struct, frozen=True):
    """One peer doing one thing. ``program`` is a module of ``integration.bench.clients``, or ``java``."""

    name: str
    group: str
    program: str
    role: str
    count: int
    quorum: bool = True
    """Whether it is measured on a quorum queue too."""

    @property
    def receives(self) -> bool:
        """Whether the queue is filled before each window."""
        return self.group == "receive"


LOADER = Row("what is received", "load", "pika_select", "load", _FAST)
ROWS = (
    Row("jmsbridge, send()", "one at a time", OURS, "sync", _SLOW),
    Row("pika BlockingConnection", "one at a time", "pika_blocking", "send", _SLOW),
    Row("kombu, confirm_publish", "one at a time", "with_kombu", "send", _SLOW),
    Row("FastStream, await publish", "one at a time", "with_faststream", "send", _SLOW),
    Row("jmsbridge, completion listener", "window of 1000", OURS, "async", _LONG),
    Row("pika SelectConnection, own thread", "window of 1000", "pika_select", "send", _LONG),
    Row("aio-pika, gathered", "window of 1000", "aio", "send", _MIDDLE),
    Row("Java JMS client, completion listener", "window of 1000", "java", "async", _LONG),
    Row("jmsbridge, transactions", "transactions of 100", OURS, "transacted", _FAST),
    Row("Java JMS client, transactions", "transactions of 100", "java", "transacted", _FAST, quorum=False),
    Row("jmsbridge, listener AUTO", "receive", OURS, "auto", _FAST),
    Row("jmsbridge, listener DUPS_OK", "receive", OURS, "dups_ok", _FAST),
    Row("pika SelectConnection, each acknowledged", "receive", "pika_select", "receive", _FAST),
    Row("Java JMS client, listener AUTO", "receive", "java", "auto", _FAST),
    Row("kombu", "receive", "with_kombu", "receive", _MIDDLE),
    Row("aio-pika", "receive", "aio", "receive", _MIDDLE),
    Row("FastStream, subscriber", "receive", "with_faststream", "receive", _SLOW),
)


def chosen(words: list[str], queue_type: str) -> list[Row]:
    """The rows for this type of queue whose name or group contains one of the words; all without words."""
    rows = [row for row in ROWS if row.quorum or queue_type != "quorum"]
    return [row for row in rows if not words or any(word in f"{row.name} {row.group}" for word in words)]
