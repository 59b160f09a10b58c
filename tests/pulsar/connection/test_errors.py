"""Errors: each result of the client library, and each way to lose a connection, with a remedy (issue 17)."""

import ssl

import pytest

pytest.importorskip("_pulsar", reason="pulsar-client is not installed: pip install 'jmsbridge[pulsar]'")

import _pulsar

from jmsbridge.spi import (
    AccessDenied,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ConnectFailed,
    Endpoint,
    SendRefused,
    SubscriptionRefused,
)
from jmsbridge_pulsar.connection.errors import (
    LibraryLeft,
    LoginEnded,
    Refusal,
    Result,
    Words,
    connect_error,
    explain,
    loss,
    result_of,
    result_of_code,
)
from jmsbridge_pulsar.connection.protocol import Malformed

WHERE = Endpoint(scheme="pulsar", host="broker", port=6650)
KINDS = {
    Result.AuthorizationError: AccessDenied,
    Result.TopicNotFound: AddressRefused,
    Result.InvalidTopicName: AddressRefused,
    Result.TopicTerminated: AddressRefused,
    Result.ConsumerBusy: SubscriptionRefused,
    Result.ProducerBusy: SendRefused,
    Result.ProducerFenced: SendRefused,
    Result.MessageTooBig: SendRefused,
    Result.ChecksumError: SendRefused,
    Result.Timeout: BackendError,
}


@pytest.mark.parametrize("result", [each for each in Result.__members__.values() if each != Result.Ok])
def test_every_result_names_what_the_broker_and_a_reason(result: Result) -> None:
    error = explain(result, "sending to queue:q", "Pulsar 4", said="its own words")
    assert type(error) is KINDS.get(result, type(error))
    for part in ("sending to queue:q", "Pulsar 4", result.name, "its own words"):
        assert part in str(error)
    assert not error.in_doubt


@pytest.mark.parametrize("result", [each for each in Result.__members__.values() if each != Result.Ok])
def test_a_message_that_was_passed_on_is_in_doubt_unless_it_was_not_stored(result: Result) -> None:
    """``SendRefused`` says that the broker certainly does not have it."""
    error = explain(result, "sending", "Pulsar", sending=True)
    is_certain = result in (Result.MessageTooBig, Result.ChecksumError)
    assert error.in_doubt is not is_certain
    assert isinstance(error, SendRefused) is is_certain


def test_exceptions_of_the_library_are_results() -> None:
    assert result_of(_pulsar.Timeout("x")) == Result.Timeout
    assert result_of(_pulsar.ConsumerBusy("x")) == Result.ConsumerBusy
    assert result_of(ValueError("x")) == Result.UnknownError


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (0, Result.UnknownError),
        (4, Result.AuthorizationError),
        (5, Result.ConsumerBusy),
        (9, Result.ChecksumError),
        (11, Result.TopicNotFound),
        (15, Result.TopicTerminated),
        (16, Result.ProducerBusy),
        (22, Result.NotAllowedError),
        (25, Result.ProducerFenced),
        (26, Result.UnknownError),
        (1 << 60, Result.UnknownError),
    ],
)
def test_codes_of_the_protocol(code: int, result: Result) -> None:
    assert result_of_code(code) == result


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Refusal(6, "too many connections"), ["too many connections"]),
        (Refusal(6, ""), ["error 6"]),
        (Malformed("a frame of 9 bytes"), ["not Pulsar's protocol", "a frame of 9 bytes"]),
        (LibraryLeft(""), ["client library"]),
        (LibraryLeft("no disk"), ["client library", "no disk"]),
        (LoginEnded("x"), ["token_file"]),
        (ConnectionResetError("the broker closed the connection"), ["connection broke"]),
    ],
)
def test_losses(error: BaseException, words: list[str]) -> None:
    lost = loss(error, "pulsar://broker:6650")
    assert lost.retriable
    assert lost.__cause__ is error
    for each in ["pulsar://broker:6650", *words]:
        assert each in str(lost)


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (Refusal(3, "wrong token"), AuthenticationFailed, "token_file"),
        (Refusal(4, "no role"), AuthenticationFailed, "the client"),
        (Refusal(0, "Failed to authenticate"), AuthenticationFailed, "Failed to authenticate"),
        (Refusal(0, "JWT expired"), AuthenticationFailed, "token"),
        (Refusal(6, "starting"), ConnectFailed, "starting"),
        (Malformed("x"), ConnectFailed, "pulsar+ssl"),
        (ConnectionRefusedError(111, "Connection refused"), ConnectFailed, "is the broker running"),
        (TimeoutError("the broker does not answer"), ConnectFailed, "no answer in time"),
        (ssl.SSLError(1, "wrong version number"), ConnectFailed, "6651"),
        (UnicodeError("label too long"), ConnectFailed, "label too long"),
    ],
)
def test_connections_that_cannot_be_opened(error: BaseException, kind: type[BackendError], word: str) -> None:
    made = connect_error(error, WHERE, "token")
    assert type(made) is kind
    assert word in str(made)
    assert str(WHERE) in str(made)
    assert made.__cause__ is error


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("basic", ["user and password"]),
        ("token", ["token_file", "expired"]),
        ("tls", ["option certificate", "common name"]),
        (None, ["demands a login", "token", "certificate"]),
        ("other", ["check the login"]),
    ],
)
def test_what_to_check_is_of_the_login(method: str | None, words: list[str]) -> None:
    made = connect_error(Refusal(3, "no"), WHERE, method)
    for each in words:
        assert each in str(made)


def test_a_user_is_named_and_his_password_is_not() -> None:
    where = Endpoint(scheme="pulsar", host="broker", user="the-user", password="the-secret")
    made = connect_error(Refusal(3, "no"), where, "basic")
    assert "the-user" in str(made)
    assert "the-secret" not in str(made)


def test_an_error_of_the_spi_stays_as_it_is() -> None:
    error = ConnectFailed("the token cannot be read")
    assert connect_error(error, WHERE, None) is error


def test_words_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words()
    assert words.lately() == ""
    words.say("no disk")
    assert words.lately() == "no disk"
    monkeypatch.setattr("time.monotonic", lambda: 1e9)
    assert words.lately() == ""
