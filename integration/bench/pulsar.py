"""The comparison on Pulsar."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from integration.bench.rows import FAST, LONG, MIDDLE, OURS, SLOW, Comparison, Rate, Row
from integration.lab.admin.rest import quoted
from integration.lab.broker import Broker
from integration.lab.starting import start
from integration.lab.table import MEASURING

__all__ = ["PULSAR"]

_RAW = "pulsar_client"
_JAVA = "pulsar"
_SUBSCRIPTION = "jms-queue"
_EARLIEST = {"ledgerId": -1, "entryId": -1}


def _receiver(name: str, role: str, count: int) -> Row:
    """With the prefetch that the other clients have."""
    return Row(f"jmsbridge, {name}", "receive", OURS, role, count, options="prefetch=1000")


_SEND = Row("jmsbridge, send()", "one at a time", OURS, "sync", SLOW)
_RAW_SEND = Row("pulsar-client, send", "one at a time", _RAW, "sync", SLOW)
_ASYNC = Row("jmsbridge, completion listener", "window of 1000", OURS, "async", LONG)
_BATCHED = Row("pulsar-client, send_async, batched", "window of 1000", _RAW, "batched", LONG)
_DUPS = _receiver("listener DUPS_OK", "dups_ok", LONG)
_LISTENER = Row("pulsar-client, listener, each acknowledged", "receive", _RAW, "listener", LONG)
_JAVA_AUTO = Row("Starlight for JMS, listener AUTO", "receive", "java", "auto", MIDDLE, client=_JAVA)
_ROWS = (
    _SEND,
    _RAW_SEND,
    Row("Starlight for JMS, send()", "one at a time", "java", "sync", SLOW, client=_JAVA),
    _ASYNC,
    _BATCHED,
    Row("pulsar-client, send_async, not batched", "window of 1000", _RAW, "unbatched", FAST),
    Row("Starlight for JMS, completion listener", "window of 1000", "java", "async", LONG, client=_JAVA),
    Row("pulsar-client's binding, no call back, a flush for 1000", "only the outcome of all", _RAW, "bound", LONG),
    Row("jmsbridge, transactions", "transactions of 100", OURS, "transacted", MIDDLE),
    _receiver("listener AUTO", "auto", LONG),
    _DUPS,
    _receiver("listener CLIENT, a hundred at a time", "client", LONG),
    _receiver("receive()", "receive", FAST),
    _LISTENER,
    Row("pulsar-client, receive, each acknowledged", "receive", _RAW, "receive", LONG),
    _JAVA_AUTO,
)

_TEXT = """# Performance on Pulsar, beside its other clients

{made}

256 bytes of text with five properties, to or from a queue: a topic with the subscription `jms-queue`. {broker} on the
same machine, without fsync, which would limit every client alike. pulsar-client writes the same properties of Pulsar as
jmsbridge, twelve, as Starlight for JMS needs them. Each client is a separate process. All are measured in turn, a
quarter of a window each, every time in another order, after one window that warms up, so that the load of the machine
affects all of them: medians of {windows} windows. A ratio is the median of the ratios within the same turn. A message
is created for each send, and a receiver reads its text and one property. CPU is that of the client, all threads. What
is received lies in entries of up to a hundred messages; every client has a prefetch of 1000, and opens and closes its
consumer in each quarter of a window, which is a good part of the time of Starlight for JMS. Within a group all tell the
outcome of each message.

Clients: {clients}.

## Required ratios

{bars}
{groups}
## What limits it

Figures of 2026-11-28 and 29, in µs of CPU for each message.

Asynchronous sends cost 23 (35 while they passed through the client library), those of pulsar-client with a call back
52, those of Starlight for JMS 8. The library only opens the producer: each of its calls gives Python's lock away, so
that the thread that calls it and the application's thread wait for each other, and a receipt came by way of two of its
threads. The row of pulsar-client's binding builds the library's messages and passes them on, without call backs: that
is as far as anything above the binding could come, less than half of Starlight's rate. What is left of ours is Python:
9 in the facade, 9 in encoding, the rest in passing messages and outcomes between threads.

A single send costs 250, and 340 while the checksum was computed by code of our own. There are two changes of threads,
from the sender to the I/O thread and back, where there were seven.

Receivers take up to 32 messages by one call of the library, decode ordinary ones by a shorter way, and acknowledge
each entry once, past the library (37 while it was called for each message, 30 now). A consumer with nothing unsettled
closes in 5 to 10 ms; before, it took 200.
"""


class _Server:
    """A broker whose URL tells where its REST interface is, which Starlight for JMS needs."""

    def __init__(self, broker: Broker) -> None:
        self.title = broker.title
        self.admin = broker.admin
        self._url = f"{broker.url()}?admin_url={broker.url('http')}"

    def url(self, scheme: str | None = None) -> str:
        """Where it is."""
        return self._url


@contextmanager
def _started() -> Iterator[_Server]:
    with start("pulsar", sync=False, options=(MEASURING,)) as broker:
        yield _Server(broker)


class _Queues(msgspec.Struct, frozen=True):
    def make(self, server: Any, name: str, queue_type: str) -> None:
        server.admin.put(_path(name), None)
        server.admin.put(f"{_path(name)}/subscription/{_SUBSCRIPTION}", _EARLIEST)

    def empty(self, server: Any, name: str) -> None:
        server.admin.post(f"{_path(name)}/subscription/{_SUBSCRIPTION}/skip_all", None)

    def remove(self, server: Any, name: str) -> None:
        server.admin.delete(f"{_path(name)}?force=true")


def _path(name: str) -> str:
    return f"/admin/v2/persistent/public/default/{quoted(name)}"


PULSAR = Comparison(
    name="pulsar",
    start=_started,
    queue_types=("durable",),
    rows=_ROWS,
    loader=Row("what is received", "load", OURS, "async", FAST),
    queues=_Queues(),
    peer_url=str,
    rates=(
        Rate(_ASYNC.name, _BATCHED.name, 1.4),
        Rate(_SEND.name, _RAW_SEND.name, 0.9),
        Rate(_DUPS.name, _LISTENER.name, 0.6),
        Rate(_DUPS.name, _JAVA_AUTO.name, 1.0),
    ),
    costs=(),
    delayed=(),
    kept=0,
    page="performance-pulsar.md",
    text=_TEXT,
    packages=("pulsar-client",),
    java_clients="Starlight for JMS 9.0.0",
)
