"""The comparison on Artemis over AMQP 1.0."""

import msgspec

from integration.bench import over_stomp
from integration.bench.applications import applications
from integration.bench.over_amqp import (
    ASYNC,
    BLOCKING,
    CONTAINER,
    CREDIT,
    FAR,
    FAR_CONTAINER,
    LOADER,
    PACKAGES,
    QPID,
    QPID_ASYNC,
    ROWS,
    SEND,
    text,
)
from integration.bench.rows import FAST, LONG, Comparison, Cost, Rate, Row
from integration.lab.admin.artemis import Management
from integration.lab.broker import Broker
from integration.lab.starting import start
from integration.lab.table import MEASURING

__all__ = ["ARTEMIS", "ARTEMIS_APPLICATIONS", "ARTEMIS_STOMP"]

_CORE = "artemis"
_CORE_ROWS = (
    Row("Artemis core client, completion listener", "window of 1000", "java", "async", LONG, (), _CORE, "tcp"),
    Row("Artemis core client, transactions", "transactions of 100", "java", "transacted", FAST, (), _CORE, "tcp"),
    Row("Artemis core client, listener AUTO", "receive", "java", "auto", FAST, (), _CORE, "tcp"),
)


class _ArtemisQueues(msgspec.Struct, frozen=True):
    def make(self, server: Broker, name: str, queue_type: str) -> None:
        with _managed(server) as management:
            management.create(name)

    def empty(self, server: Broker, name: str) -> None:
        with _managed(server) as management:
            management.empty(name)

    def remove(self, server: Broker, name: str) -> None:
        with _managed(server) as management:
            management.delete(name)


def _managed(server: Broker) -> Management:
    return Management(server.ports["stomp"])


ARTEMIS = Comparison(
    name="artemis",
    start=lambda: start("artemis", sync=False, options=(MEASURING,)),
    queue_types=("durable",),
    rows=(*ROWS, *_CORE_ROWS),
    loader=LOADER,
    queues=_ArtemisQueues(),
    peer_url=str,
    rates=(
        Rate(ASYNC.name, QPID_ASYNC.name, 1.0, best=True),
        Rate(ASYNC.name, CONTAINER.name, 2.0),
        Rate(SEND.name, BLOCKING.name, 1.5),
        Rate("jmsbridge, listener AUTO", "Qpid JMS, listener AUTO", 1.0, best=True),
        Rate("jmsbridge, listener AUTO", "proton BlockingReceiver", 2.5),
        Rate("jmsbridge, listener DUPS_OK", "Qpid JMS, listener DUPS_OK", 1.0),
        Rate("jmsbridge, transactions", "Qpid JMS, transactions", 1.0),
    ),
    costs=(),
    delayed=(FAR, FAR_CONTAINER, CREDIT),
    kept=0.85,
    credit=CREDIT.name,
    page="performance-artemis.md",
    text=text("on Artemis", ", without fsync, which would limit every client alike"),
    packages=PACKAGES,
    java_clients=f"{QPID}, Artemis core client",
)

ARTEMIS_STOMP = Comparison(
    name="artemis-stomp",
    start=lambda: start("artemis", sync=False, options=(MEASURING,)),
    queue_types=("durable",),
    rows=(*over_stomp.ROWS, *over_stomp.peers("Artemis core client", _CORE)),
    loader=over_stomp.LOADER,
    queues=_ArtemisQueues(),
    peer_url=str,
    rates=(
        Rate(over_stomp.ASYNC.name, over_stomp.PIPELINED.name, 1.2),
        Rate(over_stomp.LARGE.name, over_stomp.PEER_LARGE.name, 1.5),
        *over_stomp.RATES,
    ),
    costs=(Cost(over_stomp.ASYNC.name, over_stomp.PIPELINED.name, 0.6), *over_stomp.COSTS),
    delayed=(over_stomp.FAR,),
    kept=0.85,
    page="performance-artemis-stomp.md",
    text=over_stomp.text("on Artemis", ", without fsync, which would limit every client alike"),
    packages=over_stomp.PACKAGES,
    java_clients="Artemis core client 2.56.0",
)

ARTEMIS_APPLICATIONS = applications(ARTEMIS, "applications-artemis", "on Artemis, over AMQP 1.0", peers=False)
