"""The real brokers that are fetched: loopback only, logins, TLS, a kill that loses no confirmed message.

One test for each, because starting them takes most of the time.
"""

import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path

import pika
import pytest

from integration.lab.admin.rest import Rest
from integration.lab.admin.stomp import Stomp
from integration.lab.broker import Broker
from integration.lab.errors import BrokerFailed
from integration.lab.fixtures import StartBroker
from integration.lab.running.processes import inside
from integration.lab.table import HOST

pytestmark = pytest.mark.timeout(240)


def _listening(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and port of every socket on which a process of this folder listens."""
    sockets = {
        link.readlink().name[len("socket:[") : -1]
        for process in inside(folder)
        for link in Path(f"/proc/{process.pid}/fd").iterdir()
        if link.is_symlink() and str(link.readlink()).startswith("socket:")
    }
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                address, port = words[1].split(":")
                yield _address(bytes.fromhex(address)), int(port, 16)


def _address(raw: bytes) -> str:
    words = struct.pack(f">{len(raw) // 4}I", *struct.unpack(f"<{len(raw) // 4}I", raw))
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, words)


def _each(*names: str) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.broker(name)) for name in names]


@pytest.mark.parametrize("name", _each("activemq", "artemis"))
def test_activemq(name: str, own_broker: StartBroker) -> None:
    with own_broker(name) as broker:
        assert_on_loopback(broker)
        assert_certificate(broker, broker.ports["amqps"])
        assert_wrong_password_refused(broker)
        with Stomp(broker.ports["stomp"]) as link:
            for number in range(20):
                send(link, f"message {number}")
            broker.kill()
        broker.restart()
        assert received(broker, 20) == [f"message {number}" for number in range(20)]
        with Stomp(broker.ports["stomp"]) as link:
            send(link, "gone soon")
        broker.purge()
        with Stomp(broker.ports["stomp"]) as link:
            send(link, "first")
        assert received(broker, 1) == ["first"]
    assert_gone(broker)


@pytest.mark.parametrize("name", _each("rabbitmq", "rabbitmq3"))
def test_rabbitmq(name: str, own_broker: StartBroker) -> None:
    with own_broker(name) as broker:
        assert_on_loopback(broker)
        assert_certificate(broker, broker.ports["amqps"])
        assert_wrong_password_refused(broker)
        for kind in ("classic", "quorum"):
            publish(broker, kind)
        # RabbitMQ loses a quorum queue if it is killed within half a second of the declaration.
        assert "ok" in broker.ctl("eval", "[dets:sync(Table) || Table <- dets:all()].")
        broker.restart(kill=True)
        for kind in ("classic", "quorum"):
            assert consumed(broker, kind) == [b"%d" % number for number in range(50)]
        broker.admin.put("/api/vhosts/other")
        broker.admin.put(f"/api/permissions/other/{broker.user}", {"configure": ".*", "write": ".*", "read": ".*"})
        with pika.BlockingConnection(pika.URLParameters(broker.url("amqp", path="/other"))) as link:
            link.channel().queue_declare("there")
        assert [queue["name"] for queue in broker.admin.get("/api/queues/other")] == ["there"]
        assert "jb@localhost" in broker.ctl("status")
        broker.purge()
        assert [vhost["name"] for vhost in broker.admin.get("/api/vhosts")] == ["/"]
        assert broker.admin.get("/api/queues") == []
        with pytest.raises(BrokerFailed, match="404"):
            broker.admin.get("/api/queues/other")
    assert_gone(broker)


@pytest.mark.broker("brokerj")
def test_brokerj(own_broker: StartBroker) -> None:
    queues = "/api/latest/queue/jb/jb"
    with own_broker("brokerj") as broker:
        assert_on_loopback(broker)
        assert_certificate(broker, broker.ports["amqps"])
        with pytest.raises(BrokerFailed, match="401"):
            Rest(broker.admin.base, broker.user, "wrong").get(queues)
        broker.admin.put(f"{queues}/kept", {})
        for number in range(20):
            message = {"address": "kept", "messageId": f"message {number}", "content": "…", "persistent": True}
            broker.admin.post("/api/latest/virtualhost/jb/jb/publishMessage", {"message": message})
        broker.restart(kill=True)
        kept = broker.admin.get(f"{queues}/kept/getMessageInfo")
        assert [message["messageId"] for message in kept] == [f"message {number}" for number in range(20)]
        broker.purge()
        assert [queue["name"] for queue in broker.admin.get(queues)] == ["DLQ"]
    assert_gone(broker)


@pytest.mark.broker("pulsar")
def test_pulsar(own_broker: StartBroker) -> None:
    topics = "/admin/v2/persistent/public/default"
    with own_broker("pulsar") as broker:
        assert_on_loopback(broker)
        assert_certificate(broker, broker.ports["tls"])
        broker.admin.put(f"{topics}/kept")
        broker.admin.put(f"{topics}/parts/partitions", 2)
        broker.restart(kill=True)
        assert "persistent://public/default/kept" in broker.admin.get(topics)
        broker.purge()
        assert [topic for topic in broker.admin.get(topics) if "/__" not in topic] == []
    assert_gone(broker)


def assert_on_loopback(broker: Broker) -> None:
    """Check that every listener is on loopback, and that the table names all of them."""
    if Path("/proc/net/tcp").exists():  # only Linux shows which process listens on a port
        listening = set(_listening(broker.folder))
        assert {address for address, _ in listening} <= {HOST, "::1", f"::ffff:{HOST}"}
        assert set(broker.ports.values()) <= {port for _, port in listening}


def assert_gone(broker: Broker) -> None:
    """Check that neither process nor folder is left."""
    assert not broker.folder.exists()
    assert list(inside(broker.folder)) == []


def assert_certificate(broker: Broker, port: int) -> None:
    """Check that its certificate is for this machine and from its own, private authority."""
    context = ssl.create_default_context(cafile=broker.certificates.ca)
    for host in ("localhost", HOST):
        with (
            socket.create_connection((HOST, port), 5) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            assert secured.version() in ("TLSv1.2", "TLSv1.3")
    with socket.create_connection((HOST, port), 5) as plain, pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def assert_wrong_password_refused(broker: Broker) -> None:
    """Check that a wrong login is refused, not accepted as a guest."""
    with pytest.raises((BrokerFailed, ConnectionError)):
        Stomp(broker.ports["stomp"], "wrong")


def send(link: Stomp, text: str) -> None:
    """One persistent message, confirmed."""
    link.send("SEND", {"destination": "/queue/kept", "persistent": "true", "receipt": text}, text)
    link.expect("RECEIPT")


def received(broker: Broker, count: int) -> list[str]:
    """Receive this many messages from the queue of `send`."""
    with Stomp(broker.ports["stomp"]) as link:
        link.send("SUBSCRIBE", {"id": "1", "destination": "/queue/kept", "ack": "auto"})
        return [link.expect("MESSAGE")[1] for _ in range(count)]


def publish(broker: Broker, kind: str) -> None:
    """Fifty persistent messages, each confirmed, to a queue of that kind."""
    with pika.BlockingConnection(pika.URLParameters(broker.url("amqp"))) as link:
        channel = link.channel()
        channel.confirm_delivery()
        channel.queue_declare(kind, durable=True, arguments={"x-queue-type": kind})
        for number in range(50):
            channel.basic_publish("", kind, b"%d" % number, pika.BasicProperties(delivery_mode=2), mandatory=True)


def consumed(broker: Broker, kind: str) -> list[bytes | None]:
    """Fifty messages from that queue."""
    with pika.BlockingConnection(pika.URLParameters(broker.url("amqp"))) as link:
        arrivals = link.channel().consume(kind, auto_ack=True, inactivity_timeout=15)
        return [body for _, (_, _, body) in zip(range(50), arrivals, strict=False)]
