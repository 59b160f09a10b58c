"""ERROR frames and failed connections as errors of the SPI; each names the broker and a remedy."""

import re
from typing import Final

from jmsbridge.spi import (
    AccessDenied,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    LinkLost,
    SelectorRefused,
    SubscriptionRefused,
)
from jmsbridge.transport.network.diagnosis import CLOSE_FIRST, NO_MORE_SOCKETS, link_lost, not_connected
from jmsbridge_stomp.connection.options import TLS_PORT
from jmsbridge_stomp.protocol.frames import Frame, Unencodable
from jmsbridge_stomp.protocol.parsing import Malformed

__all__ = [
    "Refusal",
    "answer_of",
    "connect_error",
    "fails_alone",
    "has_no_host",
    "in_use",
    "is_of_silence",
    "loss",
    "may_read_escapes",
    "refused",
]

_CONTENT: Final = re.compile(r"\bCoreMessage\[.*", re.DOTALL)
_NOT_ALLOWED: Final = (
    *("not authorized", "does not have permission", "amq229213", "amq229032", "securityexception"),
    "access_refused",
)
_BAD_LOGIN: Final = (
    *("user name [", "password is invalid", "amq229031", "authentication", "login", "unable to validate"),
    "access refused for user",
)
_RESERVED: Final = "reserved prefix"
_NO_ADDRESS: Final = (
    *("does not exist", "doesnotexist", "unknown destination", "invalid destination", "not_found"),
    *("inequivalent arg", _RESERVED),
)
_NO_HOST: Final = re.compile(r"virtual host .* access denied", re.IGNORECASE)


class Refusal(Exception):
    """An ERROR frame."""

    def __init__(self, frame: Frame) -> None:
        said = frame.headers.get("message", "").strip()
        lines = frame.body.decode("utf-8", "replace").strip().splitlines()
        first = lines[0].strip() if lines else ""
        text = said if not first or first in said else first if said.lower() in first.lower() else f"{said}: {first}"
        text = _CONTENT.sub("", text).strip()  # Artemis repeats the whole message
        super().__init__(text[:500] or "the broker gave no reason")
        self.receipt = frame.headers.get("receipt-id")


def loss(error: BaseException, where: str) -> LinkLost:
    """The error for a lost connection."""
    said = None
    if isinstance(error, Refusal):
        said = f"the broker closed it ({error})"
    elif isinstance(error, Malformed):
        said = f"the broker sent what is not STOMP ({error})"
    return link_lost(error, where, said)


def fails_alone(error: BaseException) -> bool:
    """Whether only the socket that could not be opened is concerned, so that the others of its link go on."""
    return isinstance(error, Refusal) or (isinstance(error, OSError) and error.errno in NO_MORE_SOCKETS)


def is_of_silence(refusal: Refusal) -> bool:
    """Whether it refuses nothing: Artemis says so when it has heard nothing from the client, and ends the socket."""
    return "AMQ229014" in str(refusal)


def connect_error(error: BaseException, endpoint: Endpoint) -> BackendError:
    """The error for a connection that could not be opened."""
    made: BackendError
    if isinstance(error, Refusal):
        made = _login_refused(str(error), endpoint)
    elif isinstance(error, Unencodable):
        made = AuthenticationFailed(f"{endpoint}: user or password cannot be sent over STOMP: {error}")
    elif isinstance(error, Malformed):
        made = ConnectFailed(
            f"{endpoint}: it does not speak STOMP ({error}); is it another protocol's port, or one that expects TLS "
            "(stomp+ssl://)?"
        )
    else:
        made = not_connected(error, endpoint, "a broker with STOMP", TLS_PORT)
    made.__cause__ = error
    return made


def in_use(key: str) -> SubscriptionRefused:
    """The error for a durable subscription that a session of this connection has."""
    return SubscriptionRefused(f"durable subscription {key!r} has a consumer; {CLOSE_FIRST}")


def has_no_host(error: BaseException) -> bool:
    """Whether RabbitMQ has no virtual host of the name in CONNECT, or none for this user."""
    return isinstance(error, Refusal) and _NO_HOST.search(str(error)) is not None


def may_read_escapes(error: BaseException) -> bool:
    """Whether this may be RabbitMQ or Classic, which take a backslash in CONNECT for an escape, against STOMP 1.2."""
    said = str(error) if isinstance(error, Refusal) else ""
    return isinstance(error, ConnectionResetError) or "Bad CONNECT" in said or "password is invalid" in said


def _login_refused(said: str, endpoint: Endpoint) -> BackendError:
    lower = said.lower()
    if _NO_HOST.search(said):
        return AuthenticationFailed(f"{endpoint}: {said}; set the option virtual_host to one that the user may use")
    if "already connected" in lower or "clientid" in lower or "client id" in lower:
        return ClientIdRefused(
            f"client id {endpoint.client_id!r} is in use on {endpoint} ({said}); use another, or close that connection"
        )
    if any(part in lower for part in _BAD_LOGIN + _NOT_ALLOWED):
        who = f"user {endpoint.user!r}" if endpoint.user else "a client without a user name"
        return AuthenticationFailed(f"{endpoint} refused {who} ({said}): check user and password")
    return ConnectFailed(f"{endpoint}: the broker refused the connection ({said})")


def answer_of(
    error: Refusal | BackendError | None, what: str, broker: str, otherwise: type[BackendError]
) -> BackendError | None:
    """The answer to a frame in the words of the SPI: None for a receipt."""
    return refused(error, what, broker, otherwise) if isinstance(error, Refusal) else error


def refused(refusal: Refusal, what: str, broker: str, otherwise: type[BackendError]) -> BackendError:
    """The error for a refused frame; ``otherwise`` if the broker's words do not say more."""
    lower = str(refusal).lower()
    kind, said = otherwise, f"refused it ({refusal})"
    if any(part in lower for part in _NOT_ALLOWED) and _RESERVED not in lower:
        kind = AccessDenied
    elif "disconnected by server" in lower:  # its queue was deleted; what follows are fields of an object
        kind, said = AddressRefused, "ended it (disconnected by server: was the queue deleted?)"
    elif "selector" in lower or "filter" in lower:
        kind = SelectorRefused
    elif "in use" in lower or "amq339051" in lower:
        kind = SubscriptionRefused
    elif any(part in lower for part in _NO_ADDRESS):
        kind = AddressRefused
    made = kind(f"{what}: {broker} {said}")
    made.__cause__ = refusal
    return made
