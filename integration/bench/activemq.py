"""The comparison on ActiveMQ Classic over AMQP 1.0."""

from typing import Any

import msgspec

from integration.bench import over_stomp
from integration.bench.over_amqp import LOADER, PACKAGES, QPID, QPID_ASYNC, ROWS, text
from integration.bench.rows import LONG, MIDDLE, OURS, SLOW, Comparison, Rate, Row
from integration.lab.broker import Broker
from integration.lab.starting import start
from integration.lab.table import MEASURING

__all__ = ["ACTIVEMQ", "ACTIVEMQ_STOMP"]

_OPENWIRE = "activemq"
_GROUP = Row("jmsbridge, confirmed in groups", "window of 1000", OURS, "async", LONG, options="send_confirmation=group")
_OPENWIRE_ASYNC = Row("OpenWire, own callbacks", "window of 1000", "java", "async", LONG, (), _OPENWIRE, "tcp")


class _ClassicQueues(msgspec.Struct, frozen=True):
    def make(self, server: Broker, name: str, queue_type: str) -> None:
        self._call(server, "", "addQueue(java.lang.String)", name)

    def empty(self, server: Broker, name: str) -> None:
        self._call(server, f",destinationType=Queue,destinationName={name}", "purge()")

    def remove(self, server: Broker, name: str) -> None:
        self._call(server, "", "removeQueue(java.lang.String)", name)

    def _call(self, server: Broker, bean: str, operation: str, *arguments: Any) -> None:
        name = f"org.apache.activemq:type=Broker,brokerName=jb{bean}"
        asked = {"type": "exec", "mbean": name, "operation": operation, "arguments": list(arguments)}
        answer = server.admin.post("/jolokia/", asked)
        if answer["status"] != 200:
            raise RuntimeError(f"{operation} of {name}: {answer.get('error')}")


def _paced(row: Row) -> Row:
    """A shorter window, because every confirmation waits for the disk."""
    return msgspec.structs.replace(row, count=SLOW // 3 if row.count == SLOW else MIDDLE)


ACTIVEMQ = Comparison(
    name="activemq",
    start=lambda: start("activemq", options=(MEASURING,)),
    queue_types=("durable",),
    rows=tuple(map(_paced, (*ROWS, _GROUP, _OPENWIRE_ASYNC))),
    loader=LOADER,
    queues=_ClassicQueues(),
    peer_url=str,
    rates=(
        Rate(_GROUP.name, QPID_ASYNC.name, 2.0),
        Rate(_GROUP.name, _OPENWIRE_ASYNC.name, 2.0),
        Rate("jmsbridge, transactions", "Qpid JMS, transactions", 1.0),
    ),
    costs=(),
    delayed=(),
    kept=0,
    page="performance-activemq.md",
    text=text("on ActiveMQ Classic", ", with fsync"),
    packages=PACKAGES,
    java_clients=f"{QPID}, activemq-client",
)

_LIMITS = """
## What limits it

Where each message is confirmed by itself, the broker: it stores a message before it looks at the next one of the same
connection, so that its own Java client is hardly faster, and the size of a message matters little. So 1.5 times
stomp.py with 4 KiB, as on Artemis, is out of reach for any client here (that would be more than the Java client reaches
with 256 bytes), unless messages are confirmed in groups.

Receivers share two cores with the broker, which needs about three times as much CPU for a message as jmsbridge. A loop
that only parses, acknowledges each message by itself, and does nothing else, gets 18,000 to 21,000 a second here; one
that acknowledges fifty by one frame gets 32,000 to 35,000 (2026-11-29). But such a frame (`ack:client`) also
acknowledges every earlier message, also those that are to return.
"""

_JAVA = over_stomp.peers("OpenWire client", _OPENWIRE)
ACTIVEMQ_STOMP = Comparison(
    name="activemq-stomp",
    start=lambda: start("activemq", options=(MEASURING,)),
    queue_types=("durable",),
    rows=tuple(map(_paced, (*over_stomp.ROWS, *_JAVA))),
    loader=over_stomp.GROUP,
    queues=_ClassicQueues(),
    peer_url=str,
    rates=(
        Rate(over_stomp.ASYNC.name, over_stomp.PIPELINED.name, 1.0),
        Rate(over_stomp.GROUP.name, over_stomp.PIPELINED.name, 4.0),
        Rate(over_stomp.GROUP.name, _JAVA[1].name, 4.0),
        Rate(over_stomp.LARGE.name, over_stomp.PEER_LARGE.name, 1.0),
        Rate(over_stomp.LARGE_GROUP.name, over_stomp.PEER_LARGE.name, 1.5),
        *over_stomp.RATES,
    ),
    costs=over_stomp.COSTS,
    delayed=(),
    kept=0,
    page="performance-activemq-stomp.md",
    text=over_stomp.text("on ActiveMQ Classic", ", with fsync", _LIMITS),
    packages=over_stomp.PACKAGES,
    java_clients="activemq-client 6.3.1",
)
