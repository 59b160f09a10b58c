"""Which error a refusal becomes, and what its text says."""

import ssl

import pytest
from pika import exceptions as pika_errors

from jmsbridge.config import resolve
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import (
    AccessDenied,
    AddressInUse,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ChannelLost,
    ConnectFailed,
    Endpoint,
    NotSupported,
    SendRefused,
)
from jmsbridge_rabbitmq.connection.errors import connect_error, loss
from jmsbridge_rabbitmq.protocol.errors import ChannelException, is_exclusive_use, oversize, refusal

TIMED_OUT = (
    "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms. "
    "This timeout value can be configured, see consumers doc guide to learn more"
)
OVERSIZE = "PRECONDITION_FAILED - message size 17825792 is larger than configured max size 16777216"

REFUSALS = [
    (403, "ACCESS_REFUSED - write access to exchange 'x' in vhost '/' refused for user 'u'", AccessDenied),
    (404, "NOT_FOUND - no queue 'q' in vhost '/'", AddressRefused),
    (405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q'", AddressInUse),
    (406, "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q'", AddressRefused),
    (406, "PRECONDITION_FAILED - queue 'q' in vhost '/' in use", AddressInUse),
    (406, OVERSIZE, SendRefused),
    (406, TIMED_OUT, ChannelLost),
    (406, "PRECONDITION_FAILED - unknown delivery tag 99", ChannelLost),
    (311, "CONTENT_TOO_LARGE", SendRefused),
    (530, "NOT_ALLOWED - vhost nope not found", AccessDenied),
    (540, "NOT_IMPLEMENTED", NotSupported),
    (541, "INTERNAL_ERROR", BackendError),
]


@pytest.mark.parametrize(("code", "text", "kind"), REFUSALS, ids=[f"{row[0]}-{row[2].__name__}" for row in REFUSALS])
def test_a_refusal_names_operation_broker_and_remedy(code: int, text: str, kind: type[BackendError]) -> None:
    no = ChannelException(code, text)
    made = refusal(no, "consuming queue:q", "RabbitMQ 4.0.5")
    assert type(made) is kind
    assert str(made).startswith("consuming queue:q: RabbitMQ 4.0.5 refused")
    assert text in str(made)
    assert "; " in str(made)
    assert made.__cause__ is no
    assert not made.in_doubt


def test_the_acknowledgement_timeout_is_explained() -> None:
    assert "consumer_timeout" in str(refusal(ChannelException(406, TIMED_OUT), "consuming q", "RabbitMQ"))


def test_details_of_refusals_are_read() -> None:
    assert oversize(OVERSIZE) == (17825792, 16777216)
    assert oversize(TIMED_OUT) is None
    assert is_exclusive_use(ChannelException(403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"))
    assert not is_exclusive_use(ChannelException(403, "ACCESS_REFUSED - read access to queue 'q'"))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (pika_errors.ConnectionClosedByBroker(320, "CONNECTION_FORCED - broker forced connection closure"), "shutting"),
        (pika_errors.ConnectionClosedByBroker(501, "FRAME_ERROR"), "does a proxy alter the stream"),
        (pika_errors.ConnectionClosedByBroker(541, "INTERNAL_ERROR"), "log"),
        (pika_errors.AMQPHeartbeatTimeout("No activity"), "heart-beat"),
        (pika_errors.StreamLostError("Transport indicated EOF"), "EOF"),
        (None, "NoneType"),
    ],
)
def test_a_lost_link_says_why(error: Exception | None, text: str) -> None:
    lost = loss(error, "rabbitmq://here")
    assert text in str(lost)
    assert "rabbitmq://here" in str(lost)
    assert lost.__cause__ is error


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (pika_errors.ProbableAuthenticationError("x"), AuthenticationFailed, "user 'me'"),
        (pika_errors.ProbableAccessDeniedError("x"), AccessDenied, "virtual host"),
        (pika_errors.IncompatibleProtocolError("x"), ConnectFailed, "5672"),
        (pika_errors.ConnectionClosedByBroker(530, "NOT_ALLOWED - vhost"), AccessDenied, "path of the URL"),
        (pika_errors.ConnectionClosedByBroker(403, "ACCESS_REFUSED"), AuthenticationFailed, "'me'"),
        (pika_errors.ConnectionClosedByBroker(320, "CONNECTION_FORCED"), ConnectFailed, "CONNECTION_FORCED"),
        (ConnectionRefusedError(111, "Connection refused"), ConnectFailed, "Connection refused"),
        (ssl.SSLError(1, "[SSL] wrong version number"), ConnectFailed, "TLS fails"),
        (TimeoutError(), ConnectFailed, "no answer in time"),
        (RuntimeError("odd"), ConnectFailed, "odd"),
    ],
)
def test_a_failed_attempt_says_why(error: Exception, kind: type[BackendError], text: str) -> None:
    endpoint = Endpoint(scheme="rabbitmq", host="here", port=1, user="me", password="not-to-be-told")
    wrapped = pika_errors.AMQPConnectionError(error)
    for each in (error, wrapped):
        made = connect_error(each, endpoint, "plain")
        assert type(made) is kind
        assert text in str(made)
        assert "not-to-be-told" not in str(made)
        assert made.__cause__ is each


def test_an_option_with_a_wrong_value_names_the_right_ones() -> None:
    with pytest.raises(ConfigurationError, match="expected classic or quorum"):
        resolve("rabbitmq://localhost?queue_type=mirrored")
