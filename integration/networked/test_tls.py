"""Certificates: only the right one is trusted, the error says what is wrong, and a client can log in with its own."""

import datetime
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.lab.table import CLIENT_CERTIFICATES, PASSWORD, USER
from integration.networked.front import TlsFront
from integration.networked.schemes import Scheme
from jmsbridge import Connection, JMSException, Queue

Connect = Callable[..., Connection]


def serving(authority: trustme.CA, *names: str, **more: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names, **more).configure_cert(context)
    return context


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    """The authority that the application trusts, its certificate in ``ca.pem``."""
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return made


def url(scheme: Scheme, front: TlsFront, folder: Path) -> str:
    return f"{scheme.tls}://{USER}:{PASSWORD}@localhost:{front.port}?ca_file={folder / 'ca.pem'}"


def test_the_right_certificate(
    scheme: Scheme, broker: Broker, connect: Connect, name: str, authority: trustme.CA, tmp_path: Path
) -> None:
    with TlsFront(broker.ports[scheme.listener], serving(authority, "localhost")) as front:
        session = connect(url(scheme, front, tmp_path)).create_session()
        session.create_producer(Queue(name)).send("secret")
        message = session.create_consumer(Queue(name)).receive(timeout=30)
        assert message is not None
        assert message.get_body(str) == "secret"


def refused(scheme: Scheme, broker: Broker, connect: Connect, context: ssl.SSLContext, folder: Path) -> str:
    with TlsFront(broker.ports[scheme.listener], context) as front:
        with pytest.raises(JMSException) as caught:
            connect(url(scheme, front, folder))
        assert f"localhost:{front.port}" in str(caught.value)
        assert PASSWORD not in str(caught.value)
    return str(caught.value)


def test_a_certificate_for_another_host(
    scheme: Scheme, broker: Broker, connect: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    text = refused(scheme, broker, connect, serving(authority, "elsewhere.example"), tmp_path)
    assert "localhost" in text
    assert "server_name" in text


def test_a_certificate_that_has_expired(
    scheme: Scheme, broker: Broker, connect: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    text = refused(scheme, broker, connect, serving(authority, "localhost", not_after=yesterday), tmp_path)
    assert "expired" in text
    assert "clock" in text
    assert "ca_file" not in text


def test_an_unknown_authority(
    scheme: Scheme, broker: Broker, connect: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    text = refused(scheme, broker, connect, serving(trustme.CA(), "localhost"), tmp_path)
    assert "ca_file" in text


def test_a_client_logs_in_with_its_certificate(
    scheme: Scheme, broker: Broker, connect: Connect, name: str, own_broker: StartBroker
) -> None:
    if scheme.certificates_elsewhere:
        pytest.skip(f"{scheme.name} has a broker for this in its own tests")
    if scheme.own_for_certificates:
        broker = own_broker(scheme.broker, CLIENT_CERTIFICATES)
    files = broker.certificates
    options = {"ca_file": str(files.ca), "certificate": str(files.client), "key": str(files.client_key)}
    there = connect(broker.url(scheme.tls, user=None), **scheme.certificate_options, **options)
    session = there.create_session()
    session.create_producer(Queue(name)).send("by certificate")
    message = session.create_consumer(Queue(name)).receive(timeout=30)
    assert message is not None
    assert message.get_body(str) == "by certificate"
