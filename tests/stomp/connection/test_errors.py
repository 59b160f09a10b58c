"""Which product a broker is, and which error a refusal becomes."""

import msgspec
import pytest

from jmsbridge.config import resolve
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import (
    AccessDenied,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    LinkLost,
    Native,
    SelectorRefused,
    SendRefused,
    SubscriptionRefused,
)
from jmsbridge.testing.harness import LinkLog
from jmsbridge_stomp.backend import backend
from jmsbridge_stomp.connection.errors import Refusal, connect_error, loss, refused
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.connection.products import product_of
from jmsbridge_stomp.messages.wire import ARTEMIS, CLASSIC, OLD_CLASSIC, RABBITMQ, Dialect
from jmsbridge_stomp.protocol.frames import Frame, Unencodable
from jmsbridge_stomp.protocol.parsing import Malformed

WHERE = Endpoint(scheme="stomp", host="h", user="u", password="secret", client_id="c")


def _refusal(said: str, body: str = "") -> Refusal:
    return Refusal(Frame("ERROR", {"message": said, "receipt-id": "7"}, body.encode()))


@pytest.mark.parametrize(
    ("server", "dialect", "name"),
    [
        ("ActiveMQ-Artemis/2.56.0 and more words", ARTEMIS, "Artemis 2.56.0"),
        ("ActiveMQ/6.3.1", CLASSIC, "ActiveMQ Classic 6.3.1"),
        ("ActiveMQ/6.1.3", OLD_CLASSIC, "ActiveMQ Classic 6.1.3"),
        ("ActiveMQ/5.19.0", CLASSIC, "ActiveMQ Classic 5.19.0"),
        ("ActiveMQ/5.18.5", OLD_CLASSIC, "ActiveMQ Classic 5.18.5"),
        ("ActiveMQ/6.4-SNAPSHOT", CLASSIC, "ActiveMQ Classic 6.4.0"),
        ("RabbitMQ/4.0.5", RABBITMQ, "RabbitMQ 4.0.5"),
    ],
)
def test_the_broker_says_what_it_is(server: str, dialect: Dialect, name: str) -> None:
    product, said = product_of(server, WHERE)
    assert (product.dialect, said) == (dialect, name)
    assert (Native.SEND_TRANSACTIONS in product.native) is (dialect is not RABBITMQ)
    assert (Native.TRANSACTIONS in product.native) is said.startswith("ActiveMQ Classic 6")  # with acknowledgements


@pytest.mark.parametrize("server", ["", None, "apache-apollo/1.7"])
def test_other_brokers_are_refused(server: str | None) -> None:
    with pytest.raises(ConnectFailed, match="ActiveMQ Classic, Artemis and RabbitMQ"):
        product_of(server, WHERE)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_refusal("User name [u] or password is invalid."), AuthenticationFailed),
        (_refusal("Failed to connect", "AMQ229031: Unable to validate user from /127.0.0.1"), AuthenticationFailed),
        (_refusal("Broker: jb - Client: c already connected from tcp://127.0.0.1:1"), ClientIdRefused),
        (_refusal("Bad CONNECT", "Access refused for user 'u'"), AuthenticationFailed),
        (_refusal("Bad CONNECT", "Virtual host 'h' access denied"), AuthenticationFailed),
        (_refusal("Something else"), ConnectFailed),
        (Unencodable("a line feed"), AuthenticationFailed),
        (Malformed("no command"), ConnectFailed),
        (ConnectionResetError("the broker closed the connection"), ConnectFailed),
        (TimeoutError("late"), ConnectFailed),
    ],
)
def test_why_a_connection_cannot_be_opened(error: Exception, kind: type[BackendError]) -> None:
    made = connect_error(error, WHERE)
    assert type(made) is kind
    assert made.__cause__ is error
    assert "secret" not in str(made)


@pytest.mark.parametrize("client_id", ["a\nb", "a\rb", "a\0b", "\ud800"])
def test_client_ids_that_cannot_be_sent(client_id: str) -> None:
    with pytest.raises(ClientIdRefused, match="client id"):
        backend.open(msgspec.structs.replace(WHERE, client_id=client_id), WithoutTls(), LinkLog())


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("User u is not authorized to write to: queue://x", AccessDenied),
        ("AMQ229213: User: u does not have permission='SEND'", AccessDenied),
        ("Invalid selector", SelectorRefused),
        ("Durable consumer is in use for client: c", SubscriptionRefused),
        ("The destination temp-queue://x does not exist.", AddressRefused),
        ("ACCESS_REFUSED - access to queue 'x' refused", AccessDenied),
        ("ACCESS_REFUSED - queue name 'amq.x' contains reserved prefix 'amq.*'", AddressRefused),
        ("PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'x'", AddressRefused),
        ("no reason that is known", SendRefused),
    ],
)
def test_what_a_refusal_becomes(said: str, kind: type[BackendError]) -> None:
    made = refused(_refusal(said, "java.lang.Exception: x\n\tat y"), "a message to queue:x", "Artemis 2", SendRefused)
    assert type(made) is kind
    assert "Artemis 2" in str(made)
    assert "at y" not in str(made)  # no stack trace of Java


def test_a_lost_link_says_what_the_broker_said() -> None:
    assert "too long" in str(loss(_refusal("header too long"), "stomp://h"))
    assert type(loss(OSError(104, "reset"), "stomp://h")) is LinkLost


def test_options_of_tls_are_refused_without_tls() -> None:
    with pytest.raises(ConfigurationError, match=r"stomp\+ssl"):
        resolve("stomp://h?ca_file=x.pem")
    assert "stomp+ssl://h" in str(resolve("stomp+ssl://h?ca_file=x.pem&heartbeat=5"))
