"""Results of the client library and failed connections as errors of the SPI; each names the broker and a remedy."""

import time
from typing import Any, Final

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
from jmsbridge_pulsar.connection.options import TLS_PORT
from jmsbridge_pulsar.connection.protocol import Malformed

__all__ = [
    "LibraryLeft",
    "LoginEnded",
    "Migrated",
    "Refusal",
    "Result",
    "Words",
    "connect_error",
    "explain",
    "is_limit",
    "loss",
    "result_of",
    "result_of_code",
]

Result = _pulsar.Result

_LATELY: Final = 5.0  # seconds
_AUTHENTICATION, _AUTHORIZATION = 3, 4  # of the protocol's errors
_KINDS: Final[dict[Any, type[BackendError]]] = {
    Result.AuthorizationError: AccessDenied,
    Result.AuthenticationError: AccessDenied,
    Result.TopicNotFound: AddressRefused,
    Result.InvalidTopicName: AddressRefused,
    Result.TopicTerminated: AddressRefused,
    Result.ConsumerBusy: SubscriptionRefused,
    Result.ProducerBusy: SendRefused,
    Result.ProducerFenced: SendRefused,
    Result.ProducerBlockedQuotaExceededError: SendRefused,
    Result.ProducerBlockedQuotaExceededException: SendRefused,
}
_NOT_STORED: Final = (Result.MessageTooBig, Result.ChecksumError)
"""The library does not send the message, or the broker refuses it alone, which the relay makes of each such refusal."""
_CODES: Final = dict(
    enumerate(
        (
            *(Result.UnknownError, Result.BrokerMetadataError, Result.BrokerPersistenceError),
            *(Result.AuthenticationError, Result.AuthorizationError, Result.ConsumerBusy, Result.ServiceUnitNotReady),
            *(Result.ProducerBlockedQuotaExceededError, Result.ProducerBlockedQuotaExceededException),
            *(Result.ChecksumError, Result.UnsupportedVersionError, Result.TopicNotFound, Result.SubscriptionNotFound),
            *(Result.ConsumerNotFound, Result.TooManyLookupRequestException, Result.TopicTerminated),
            *(Result.ProducerBusy, Result.InvalidTopicName, Result.IncompatibleSchema, Result.ConsumerAssignError),
            *(Result.TransactionCoordinatorNotFoundError, Result.InvalidTxnStatusError, Result.NotAllowedError),
            *(Result.TransactionConflict, Result.TransactionNotFound, Result.ProducerFenced),
        )
    )
)
"""The protocol's errors, in the order of their codes."""
_REASONS: Final = {
    Result.TopicNotFound: "the topic or its namespace does not exist, and the broker does not create it",
    Result.InvalidTopicName: "this is not a valid name of a topic",
    Result.TopicTerminated: "the topic is terminated: it takes no more messages",
    Result.AuthorizationError: "this user may not do it; the namespace's administrator grants permissions",
    Result.ProducerBusy: "another producer has the topic for itself (access mode exclusive); close that one first",
    Result.ProducerFenced: "another producer has taken the topic for itself (access mode exclusive)",
    Result.ProducerBlockedQuotaExceededError: "too many messages wait there to be consumed (backlog quota)",
    Result.ProducerBlockedQuotaExceededException: "too many messages wait there to be consumed (backlog quota)",
    Result.MessageTooBig: "the message is larger than the broker takes (maxMessageSize)",
    Result.ChecksumError: "it does not take this message",
    Result.ConsumerBusy: "it has a consumer that excludes another one; close that one first",
    Result.BrokerMetadataError: "its metadata did not allow it; does the namespace exist?",
    Result.NotAllowedError: "its policies or settings do not allow it",
    Result.Timeout: "no answer in time",
}


_LOGINS: Final = {
    "basic": "check user and password",
    "token": "check the token (options token, token_file); it may have expired",
    "tls": "check the certificate (option certificate); the broker must trust it, and its common name is the user",
    None: "it demands a login: user and password in the URL, or option token, token_file or certificate",
}
"""What to check, by the method of the login."""


class Refusal(Exception):
    """The broker's answer to CONNECT."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text or f"error {code}")
        self.code = code


class LibraryLeft(Exception):
    """The client library closed a connection, perhaps because of these words of the broker."""


class Words:
    """What a broker said last when it refused something."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0.0
        self._codes: dict[str, int] = {}

    def say(self, text: str) -> None:
        """It said this, if it did say something."""
        if text:
            self._text, self._at = text, time.monotonic()

    def correct(self, consumer: str, code: int) -> None:
        """The library will report NotAllowedError for the consumer of this name: it is this code."""
        self._codes[consumer] = code

    def code(self, consumer: str, result: "_pulsar.Result") -> int | None:
        """The code of a result that is not the true one; None if it is."""
        code = self._codes.pop(consumer, None)
        return code if result == Result.NotAllowedError else None

    def lately(self) -> str:
        """What it said a moment ago; empty for nothing."""
        return self._text if time.monotonic() - self._at < _LATELY else ""


class Migrated(Exception):
    """The cluster has moved to this URL."""


class LoginEnded(Exception):
    """The connection ended after the broker had asked for the login once more."""


def loss(error: BaseException, where: str) -> LinkLost:
    """The error for a lost connection."""
    said = None
    if isinstance(error, Refusal):
        said = f"the broker refused another connection ({error})"
    elif isinstance(error, Malformed):
        said = f"the broker sent what is not Pulsar's protocol ({error})"
    elif isinstance(error, LibraryLeft):
        said = "the client library closed a connection"
        if str(error):
            said = f"{said}; the broker had said: {error}"
    elif isinstance(error, Migrated):
        said = f"the cluster has migrated to {error}; connect to that"
    elif isinstance(error, LoginEnded):
        said = (
            "the broker asked for the login again, since a token expires, and then ended the connection: keep a valid "
            "token in the file of option token_file"
        )
    return link_lost(error, where, said)


def connect_error(error: BaseException, endpoint: Endpoint, method: str | None) -> BackendError:
    """The error for a connection that could not be opened; ``method`` is that of the login."""
    made: BackendError
    if isinstance(error, BackendError):
        return error
    if isinstance(error, Refusal):
        made = _login_refused(error, endpoint, method)
    elif isinstance(error, Malformed):
        made = ConnectFailed(
            f"{endpoint}: it does not speak Pulsar's protocol ({error}); is it another protocol's port, or one that "
            "expects TLS (pulsar+ssl://)?"
        )
    else:
        made = not_connected(error, endpoint, "Pulsar", TLS_PORT)
    made.__cause__ = error
    return made


def _login_refused(refusal: Refusal, endpoint: Endpoint, method: str | None) -> BackendError:
    said = str(refusal)
    if refusal.code in (_AUTHENTICATION, _AUTHORIZATION) or "uthenticat" in said or "xpired" in said:
        who = f"user {endpoint.user!r}" if endpoint.user else "the client"
        return AuthenticationFailed(f"{endpoint} refused {who} ({said}): {_LOGINS.get(method, 'check the login')}")
    return ConnectFailed(f"{endpoint}: the broker refused the connection ({said})")


def result_of(error: BaseException) -> "_pulsar.Result":
    """The result that the library raised as an exception."""
    return Result.__members__.get(type(error).__name__, Result.UnknownError)


def result_of_code(code: int) -> "_pulsar.Result":
    """The result for an error of the protocol."""
    return _CODES.get(code, Result.UnknownError)


def is_limit(result: "_pulsar.Result", said: str) -> bool:
    """Whether a broker means by ConsumerBusy or ProducerBusy that policies allow no more of them."""
    is_busy = result in (Result.ConsumerBusy, Result.ProducerBusy)
    return is_busy and ("max consumers limit" in said or "max producers limit" in said)


def explain(result: "_pulsar.Result", what: str, broker: str, *, sending: bool = False, said: str = "") -> BackendError:
    """The error for a result of the client library other than Ok; ``said`` are the broker's own words, if known.

    A message that was passed to the library, which is what ``sending`` means, is in doubt unless it certainly was not
    stored.
    """
    reason = _REASONS.get(result) or "see the log of the broker"
    if is_limit(result, said):
        reason = "its policies allow no more (maxConsumersPerTopic, maxConsumersPerSubscription, maxProducersPerTopic)"
    if said:
        reason = f"{reason}; it said: {said}"
    text = f"{what}: {broker} refused it ({result.name}): {reason}"
    if result in _NOT_STORED:
        return SendRefused(text)
    if sending:
        return BackendError(text, in_doubt=True)
    return _KINDS.get(result, BackendError)(text)
