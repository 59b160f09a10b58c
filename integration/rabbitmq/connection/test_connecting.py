"""Opening a link: every failure names the broker, the operation and a remedy."""

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client, listening
from jmsbridge.spi import AccessDenied, Address, AuthenticationFailed, BackendError, ClientIdRefused, ConnectFailed
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions

Clients = Callable[..., Client]


def refused(kind: type[BackendError], clients: Clients, broker: Broker | None, **options: object) -> str:
    """The text of the error with which opening a link fails."""
    before = set(threading.enumerate())
    with pytest.raises(kind) as caught:
        clients(broker, **options)
    assert type(caught.value) is kind
    started = {each for each in threading.enumerate() if each not in before and each.name.startswith("jmsbridge")}
    assert not started
    return str(caught.value)


def test_a_wrong_password_is_reported_without_the_password(broker: Broker, clients: Clients) -> None:
    text = refused(AuthenticationFailed, clients, broker, password="not-the-password")
    assert "refused user 'jb'" in text
    assert "not-the-password" not in text


def test_no_log_has_the_password(broker: Broker, clients: Clients, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    broker.admin.put(f"/api/users/{name}", {"password": "s3cr3t-in-logs", "tags": ""})
    broker.admin.put(f"/api/permissions/%2F/{name}", {"configure": ".*", "write": ".*", "read": ".*"})
    client = clients(broker, user=name, password="s3cr3t-in-logs")
    client.send(Address(name), "text")
    client.close()
    assert "jmsbridge.rabbitmq" in {record.name[:18] for record in caplog.records}
    assert "s3cr3t-in-logs" not in caplog.text


def test_an_unknown_virtual_host(broker: Broker, clients: Clients) -> None:
    assert "virtual host" in refused(AccessDenied, clients, broker, path="/no-such-host")


def test_a_virtual_host_that_the_user_may_not_use(broker: Broker, clients: Clients, name: str) -> None:
    broker.admin.put(f"/api/vhosts/{name}", {})
    broker.admin.delete(f"/api/permissions/{name}/jb")
    assert "virtual host" in refused(AccessDenied, clients, broker, path=f"/{name}")
    broker.admin.delete(f"/api/vhosts/{name}")


def test_virtual_hosts_are_separate(broker: Broker, clients: Clients, name: str) -> None:
    broker.admin.put(f"/api/vhosts/{name}", {})
    broker.admin.put(f"/api/permissions/{name}/jb", {"configure": ".*", "write": ".*", "read": ".*"})
    here, there = clients(broker), clients(broker, path=f"/{name}")
    there.send(Address(name), "there")
    here.send(Address(name), "here")
    _, box = there.consume(Address(name), 10)
    assert [arrival.envelope.body for arrival in box.wait(1)] == ["there"]
    there.close()
    broker.admin.delete(f"/api/vhosts/{name}")


def test_a_port_without_listener_is_reported(clients: Clients) -> None:
    with socket.socket() as bound:  # the port is reserved, and nothing listens on it
        bound.bind(("127.0.0.1", 0))
        url = f"rabbitmq://127.0.0.1:{bound.getsockname()[1]}"
        text = refused(ConnectFailed, clients, None, url=url)
    assert "Connection refused" in text


ANSWERS = [
    pytest.param(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", id="http"),
    pytest.param(b"AMQP\x00\x01\x00\x00", id="amqp-1.0"),
    pytest.param(b"ERROR\nmessage:what?\n\n\0", id="stomp"),
    pytest.param(bytes(range(256)) * 64, id="noise"),
    pytest.param(b"\x01\x00\x00\xff\xff\xff\xff" + b"\0" * 100, id="endless-frame"),
    pytest.param(b"\x01\x00\x00\x00\x00\x00\x02\x00\x0a\xce", id="cut-method"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_server_that_is_not_rabbitmq_is_reported(clients: Clients, answer: bytes) -> None:
    def say(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)

    with listening(say) as port:
        text = refused(ConnectFailed, clients, None, url=f"rabbitmq://127.0.0.1:{port}", connect_timeout=20.0)
    assert f"127.0.0.1:{port}" in text
    assert "did not answer in AMQP 0-9-1" in text


def test_silence_has_a_deadline(clients: Clients) -> None:
    with listening(lambda connection: None) as port:
        text = refused(ConnectFailed, clients, None, url=f"rabbitmq://127.0.0.1:{port}", connect_timeout=0.5)
    assert "no answer in time" in text or "no answer within 0.5 s" in text  # the deadline of pika or of jmsbridge


# -- client ids


def test_a_client_id_is_free_again_after_a_cut(broker: Broker, clients: Clients, name: str) -> None:
    with FaultProxy.to(broker.url()) as proxy:
        first = clients(None, url=proxy.through(broker.url()), client_id=name)
        with pytest.raises(ClientIdRefused, match="in use"):
            clients(broker, client_id=name)
        proxy.cut()
        eventually(lambda: first.log.losses)
        made: list[Client] = []

        def connected() -> bool:
            with contextlib.suppress(ClientIdRefused):  # the broker has not noticed the cut yet
                made.append(clients(None, url=proxy.through(broker.url()), client_id=name))
            return bool(made)

        eventually(connected, 20.0)
        second = made[0]
        second.send(Address(name), "again")
        _, box = second.consume(Address(name), 1)
        assert box.wait(1)[0].envelope.body == "again"
        second.close()


# -- TLS


def tls(broker: Broker, **options: object) -> dict[str, object]:
    """Options for a client over TLS that trusts the broker's authority."""
    chosen = {"ca_file": str(broker.certificates.ca), **options}
    return {"url": broker.url("rabbitmqs"), "options": RabbitOptions(**chosen)}  # type: ignore[arg-type]


def test_tls_with_the_right_authority(broker: Broker, clients: Clients, name: str) -> None:
    client = clients(broker, **tls(broker))
    client.send(Address(name), "secret")
    _, box = client.consume(Address(name), 1)
    assert box.wait(1)[0].envelope.body == "secret"


def test_tls_with_an_unknown_authority(broker: Broker, clients: Clients) -> None:
    text = refused(ConnectFailed, clients, broker, url=broker.url("rabbitmqs"))
    assert "certificate is not trusted" in text
    assert "ca_file" in text


def test_tls_for_another_host(broker: Broker, clients: Clients) -> None:
    text = refused(ConnectFailed, clients, broker, **tls(broker, server_name="elsewhere.example"))
    assert "elsewhere.example" in text
    assert "server_name" in text


def test_tls_unverified_only_when_asked_for(broker: Broker, clients: Clients, caplog: pytest.LogCaptureFixture) -> None:
    client = clients(broker, url=broker.url("rabbitmqs"), options=RabbitOptions(verify=False))
    assert client.link.broker.startswith("RabbitMQ")
    assert "not checked" in caplog.text


def test_tls_with_a_certificate_that_has_expired(clients: Clients, tmp_path: Path) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost", not_after=datetime.now(UTC) - timedelta(days=1))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)

    def greet(connection: socket.socket) -> None:
        with contextlib.suppress(ssl.SSLError):
            context.wrap_socket(connection, server_side=True).close()

    options = RabbitOptions(ca_file=str(tmp_path / "ca.pem"))
    with listening(greet) as port:
        text = refused(ConnectFailed, clients, None, url=f"rabbitmqs://localhost:{port}", options=options)
    assert "expired" in text


def test_tls_on_a_port_without(broker: Broker, clients: Clients) -> None:
    text = refused(ConnectFailed, clients, broker, **(tls(broker) | {"port": broker.ports["amqp"]}))
    assert "TLS fails" in text


def test_external_login_with_the_certificate_of_an_unknown_user(broker: Broker, clients: Clients) -> None:
    files = broker.certificates
    options = tls(broker, login="external", certificate=str(files.server), key=str(files.server_key))
    text = refused(AuthenticationFailed, clients, broker, **options)
    assert "rabbitmq_auth_mechanism_ssl" in text


def test_missing_certificate_files(broker: Broker, clients: Clients) -> None:
    text = refused(ConnectFailed, clients, broker, **tls(broker, ca_file="/nowhere/ca.pem"))
    assert "/nowhere/ca.pem" in text


def test_options_do_not_show_the_key_password() -> None:
    assert "hunter2" not in repr(RabbitOptions(key_password="hunter2"))
