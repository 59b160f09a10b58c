"""The comparison on RabbitMQ."""

from urllib.parse import quote

from integration.bench.applications import applications
from integration.bench.rows import FAST, LONG, MIDDLE, OURS, OURS_PLAIN, SLOW, Comparison, Cost, Rate, Row
from integration.lab.broker import Broker
from integration.lab.starting import start
from integration.lab.table import MEASURING

__all__ = ["RABBITMQ", "RABBITMQ_APPLICATIONS"]

_JAVA = "rabbitmq"
_ROWS = (
    Row("jmsbridge, send()", "one at a time", OURS, "sync", SLOW),
    Row("pika BlockingConnection", "one at a time", "pika_blocking", "send", SLOW),
    Row("kombu, confirm_publish", "one at a time", "with_kombu", "send", SLOW),
    Row("FastStream, await publish", "one at a time", "with_faststream", "send", SLOW),
    Row("jmsbridge, completion listener", "window of 1000", OURS, "async", LONG),
    Row(
        "jmsbridge, no fast path, completion listener",
        "window of 1000",
        OURS_PLAIN,
        "async",
        LONG,
        ("classic",),
    ),
    Row("pika SelectConnection, own thread", "window of 1000", "pika_select", "send", LONG),
    Row("aio-pika, gathered", "window of 1000", "aio", "send", MIDDLE),
    Row("Java JMS client, completion listener", "window of 1000", "java", "async", LONG, client=_JAVA),
    Row("jmsbridge, transactions", "transactions of 100", OURS, "transacted", FAST),
    Row("Java JMS client, transactions", "transactions of 100", "java", "transacted", FAST, ("classic",), _JAVA),
    Row("jmsbridge, listener AUTO", "receive", OURS, "auto", FAST),
    Row("jmsbridge, listener DUPS_OK", "receive", OURS, "dups_ok", FAST),
    Row("jmsbridge, no fast path, listener AUTO", "receive", OURS_PLAIN, "auto", FAST, ("classic",)),
    Row("pika SelectConnection, each acknowledged", "receive", "pika_select", "receive", FAST),
    Row("Java JMS client, listener AUTO", "receive", "java", "auto", FAST, client=_JAVA),
    Row("kombu", "receive", "with_kombu", "receive", MIDDLE),
    Row("aio-pika", "receive", "aio", "receive", MIDDLE),
    Row("FastStream, subscriber", "receive", "with_faststream", "receive", SLOW),
)

_RATES = (
    Rate("jmsbridge, completion listener", "pika BlockingConnection", 10.0),
    Rate("jmsbridge, completion listener", "aio-pika, gathered", 2.0),
    Rate("jmsbridge, completion listener", "pika SelectConnection, own thread", 1.0),
    Rate("jmsbridge, completion listener", "Java JMS client, completion listener", 1.0),
    Rate("jmsbridge, send()", "pika BlockingConnection", 0.9),
    Rate("jmsbridge, listener AUTO", "pika SelectConnection, each acknowledged", 1.0),
    Rate("jmsbridge, listener AUTO", "Java JMS client, listener AUTO", 1.0),
    Rate("jmsbridge, listener AUTO", "jmsbridge, no fast path, listener AUTO", 1.3),
    Rate("jmsbridge, listener DUPS_OK", "pika SelectConnection, each acknowledged", 1.3),
    Rate("jmsbridge, transactions", "Java JMS client, transactions", 0.6),
)

_BY_NAME = {row.name: row for row in _ROWS}
_DELAYED = ("jmsbridge, completion listener", "jmsbridge, send()", "pika SelectConnection, own thread")

_TEXT = """# Performance on RabbitMQ, beside its other clients

{made}

256 bytes of text with five properties, persistent, to or from a durable queue; {broker} on the same machine. Each
client is a separate process. All are measured in turn, every time in another order, a quarter of a window each (whole
windows through the proxy), after one window that warms up, so that the load of the machine affects all of them: medians
of {windows} windows. Ratios are medians of the ratios within the same turn. A message is created for each send, and a
receiver reads its text and one property. CPU is that of the client, all threads. Within a group all give the same
guarantee, except that Java's client does not wait at commit for the confirmations of the messages sent before it. "No
fast path" is jmsbridge with all framing left to pika, which only this benchmark has. The comparison says what the
backend's own frames are worth: less CPU for sends, whose rate the broker limits, and faster listeners. The Java
client's sends with a completion listener become slower with the number of messages that their session has sent (3.7.0
goes through all sequence numbers from the first one whenever the broker confirms several at once): its highest figure
is that of a new session.

Clients: {clients}.

## Required ratios

{bars}
{groups}"""


class _Queues:
    def make(self, server: Broker, name: str, queue_type: str) -> None:
        server.admin.put(_path(name), {"durable": True, "arguments": {"x-queue-type": queue_type}})

    def empty(self, server: Broker, name: str) -> None:
        server.admin.delete(f"{_path(name)}/contents")

    def remove(self, server: Broker, name: str) -> None:
        server.admin.delete(_path(name))


def _path(name: str) -> str:
    return f"/api/queues/%2F/{quote(name, safe='')}"


def _peer_url(url: str) -> str:
    # no heart-beats: between two windows no thread serves them
    return url.replace("rabbitmq://", "amqp://") + "/%2F?heartbeat=0"


RABBITMQ = Comparison(
    name="rabbitmq",
    start=lambda: start("rabbitmq", options=(MEASURING,)),
    queue_types=("classic", "quorum"),
    rows=_ROWS,
    loader=Row("what is received", "load", "pika_select", "load", FAST),
    queues=_Queues(),
    peer_url=_peer_url,
    rates=_RATES,
    costs=(
        Cost("jmsbridge, send()", "pika BlockingConnection"),
        Cost("jmsbridge, completion listener", "jmsbridge, no fast path, completion listener"),
    ),
    delayed=tuple(_BY_NAME[name] for name in _DELAYED),
    kept=0.8,
    page="performance-rabbitmq.md",
    text=_TEXT,
    packages=("pika", "aio-pika", "kombu", "faststream"),
    java_clients="rabbitmq-jms 3.7.0",
)

RABBITMQ_APPLICATIONS = applications(RABBITMQ, "applications", "on RabbitMQ", peers=True)
