"""Results of the client library and failed connections as errors of the SPI; each names the broker and a remedy."""

from typing import Final

import _pulsar

from jmsbridge.spi import (
    AccessDenied,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ConnectFailed,
    Endpoint,
    LinkLost,
    SendRefused,
    SubscriptionRefused,
)
from jmsbridge.transport.network.diagnosis import link_lost, not_connected
from jmsbridge_pulsar.connection.protocol import Malformed

__all__ = ["Refusal", "Result", "connect_error", "explain", "loss", "result_of"]

Result = _pulsar.Result

_TLS_PORT: Final = 6651
_AUTHENTICATION, _AUTHORIZATION = 3, 4  # of the protocol's errors
_NOT_ALLOWED: Final = (Result.AuthorizationError, Result.AuthenticationError)
_UNKNOWN: Final = (Result.TopicNotFound, Result.InvalidTopicName, Result.TopicTerminated)
_REASONS: Final = {
    Result.TopicNotFound: "the topic does not exist, and the broker does not create it",
    Result.InvalidTopicName: "this is not a valid name of a topic",
    Result.TopicTerminated: "the topic is terminated: it takes no more messages",
    Result.AuthorizationError: "this user may not do it",
    Result.ProducerBusy: "another producer has the topic for itself",
    Result.ProducerFenced: "another producer has taken the topic for itself",
    Result.MessageTooBig: "the message is larger than the broker takes",
    Result.ConsumerBusy: "it has a consumer that excludes another one",
    Result.Timeout: "no answer in time",
}


class Refusal(Exception):
    """The broker's answer to CONNECT."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text or f"error {code}")
        self.code = code


def loss(error: BaseException, where: str) -> LinkLost:
    """The error for a lost connection."""
    said = None
    if isinstance(error, Refusal):
        said = f"the broker refused another connection ({error})"
    elif isinstance(error, Malformed):
        said = f"the broker sent what is not Pulsar's protocol ({error})"
    return link_lost(error, where, said)


def connect_error(error: BaseException, endpoint: Endpoint) -> BackendError:
    """The error for a connection that could not be opened."""
    made: BackendError
    if isinstance(error, BackendError):
        return error
    if isinstance(error, Refusal):
        made = _login_refused(error, endpoint)
    elif isinstance(error, Malformed):
        made = ConnectFailed(
            f"{endpoint}: it does not speak Pulsar's protocol ({error}); is it another protocol's port, or one that "
            "expects TLS (pulsar+ssl://)?"
        )
    else:
        made = not_connected(error, endpoint, "Pulsar", _TLS_PORT)
    made.__cause__ = error
    return made


def _login_refused(refusal: Refusal, endpoint: Endpoint) -> BackendError:
    said = str(refusal)
    if refusal.code in (_AUTHENTICATION, _AUTHORIZATION) or "uthenticat" in said or "xpired" in said:
        who = f"user {endpoint.user!r}" if endpoint.user else "the client"
        return AuthenticationFailed(
            f"{endpoint} refused {who} ({said}): check user and password, or the token (options token, token_file)"
        )
    return ConnectFailed(f"{endpoint}: the broker refused the connection ({said})")


def result_of(error: BaseException) -> "_pulsar.Result":
    """The result that the library raised as an exception."""
    return Result.__members__.get(type(error).__name__, Result.UnknownError)


def explain(result: "_pulsar.Result", what: str, broker: str, *, sending: bool = False) -> BackendError:
    """The error for a result of the client library other than Ok.

    A send whose outcome the result does not tell is in doubt.
    """
    text = f"{what}: {broker} refused it ({result.name}): {_REASONS.get(result, 'see the log of the broker')}"
    if result in _NOT_ALLOWED:
        return AccessDenied(text)
    if result in _UNKNOWN:
        return AddressRefused(text)
    if result == Result.ConsumerBusy:
        return SubscriptionRefused(text)
    if result in (Result.ProducerBusy, Result.ProducerFenced):
        return SendRefused(text)
    if result == Result.MessageTooBig:
        return SendRefused(text)
    return BackendError(text, in_doubt=sending)
