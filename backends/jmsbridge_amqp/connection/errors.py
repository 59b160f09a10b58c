"""AMQP's error conditions and failed connections as errors of the SPI; each names the broker and a remedy."""

from typing import Any, Final

from jmsbridge.spi import (
    AccessDenied,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    LinkLost,
    NotSupported,
    SelectorRefused,
    SendRefused,
    SubscriptionRefused,
)
from jmsbridge.transport.network.diagnosis import CLOSE_FIRST, link_lost, not_connected

__all__ = [
    "FULL",
    "IN_USE",
    "UNAUTHORIZED",
    "WRONG_PROTOCOL",
    "Failure",
    "attach_error",
    "connect_error",
    "failure_of",
    "loss",
    "send_error",
]

UNAUTHORIZED: Final = "amqp:unauthorized-access"
"""The condition of a failed login, and of missing rights."""

FULL: Final = "amqp:resource-limit-exceeded"
"""The condition when there is no room: at an address, or on a connection for another session."""

_TLS_PORT: Final = 5671

_INVALID_FIELD: Final = "amqp:invalid-field"

WRONG_PROTOCOL: Final = "jmsbridge:wrong-protocol"
"""The condition when the server does not speak AMQP 1.0."""
IN_USE: Final = frozenset({"amqp:internal-error", "amqp:illegal-state", "amqp:resource-locked"})
"""The conditions with which brokers refuse a subscription because of its other consumer."""


class Failure(Exception):
    """What the broker said: a condition with its description and further information."""

    def __init__(self, name: str, description: str | None = None, info: dict[str, Any] | None = None) -> None:
        super().__init__(f"{name}: {description}" if description else name)
        self.name = name
        self.description = description or ""
        self.info = info or {}


def failure_of(condition: Any) -> Failure:
    """The failure for proton's condition, which may be None."""
    if condition is None:
        return Failure("amqp:unspecified", "the broker gave no reason")
    try:
        info = {str(key): value for key, value in dict(condition.info or {}).items()}
    except (TypeError, ValueError):
        info = {}
    description = condition.description
    if str(condition.name).endswith(":redirect"):
        host = info.get("network-host") or info.get("hostname")
        there = f"{host}:{info['port']}" if info.get("port") else host
        description = f"{description or 'no reason'}; it names {there or info.get('address') or 'no other address'}"
    return Failure(str(condition.name), description, info)


def loss(error: BaseException | None, where: str) -> LinkLost:
    """The error for a lost connection."""
    said = None
    if isinstance(error, Failure):
        if "idle-timeout" in error.description:
            said = f"the broker was silent for longer than the heart-beat time-out (option heartbeat): {error}"
        elif error.name == "amqp:connection:forced":
            said = f"the broker closed it ({error}): it is shutting down, or an operator closed the connection"
        else:
            said = f"the broker closed it ({error})"
    return link_lost(error, where, said)


def connect_error(error: BaseException, endpoint: Endpoint) -> BackendError:
    """The error for a connection that could not be opened."""
    made: BackendError
    if isinstance(error, Failure):
        made = _open_refused(error, endpoint)
    else:
        made = not_connected(error, endpoint, "an AMQP 1.0 broker", _TLS_PORT)
    made.__cause__ = error
    return made


def _open_refused(failure: Failure, endpoint: Endpoint) -> BackendError:
    """The error for a connection that the broker refused."""
    if failure.name == WRONG_PROTOCOL:
        return ConnectFailed(f"{endpoint}: {failure.description}")
    if failure.name == UNAUTHORIZED:
        who = f"user {endpoint.user!r}" if endpoint.user else "this client"
        return AuthenticationFailed(f"{endpoint} refused {who} ({failure.description}): check user and password")
    if failure.name == _INVALID_FIELD and str(failure.info.get("invalid-field")) == "container-id":
        return ClientIdRefused(
            f"client id {endpoint.client_id!r} is in use on {endpoint}; choose another or close that connection"
        )
    if failure.name in ("amqp:not-allowed", "amqp:not-found"):
        return AccessDenied(
            f"{endpoint}: the connection was refused ({failure}); check the option virtual_host and the user's rights"
        )
    return ConnectFailed(f"{endpoint}: the broker closed the connection ({failure})")


def attach_error(
    failure: Failure, what: str, broker: str, *, selector: bool = False, key: bool = False
) -> BackendError:
    """The error for a refused link; ``selector`` and ``key`` say whether it had a selector or a subscription's name."""
    text = f"{what}: {broker} refused it ({failure})"
    made: BackendError
    if failure.name == UNAUTHORIZED:
        made = AccessDenied(f"{text}; check the rights of the user")
    elif failure.name == _INVALID_FIELD and selector:
        made = SelectorRefused(f"{text}; check the selector")
    elif failure.name == "amqp:not-implemented":
        made = NotSupported(text)
    elif key and failure.name in IN_USE:
        made = SubscriptionRefused(f"{text}: it has a consumer, or one with another topic or selector; {CLOSE_FIRST}")
    elif failure.name in ("amqp:not-found", "amqp:illegal-state", "amqp:internal-error", _INVALID_FIELD):
        made = AddressRefused(f"{text}; check that it exists, and whether it is a queue or a topic")
    else:
        made = BackendError(text)
    made.__cause__ = failure
    return made


def send_error(failure: Failure, where: str, broker: str, did: str = "did not accept the message") -> BackendError:
    """The error for a rejected message, or with another ``did`` for one that was not sent."""
    text = f"{where}: {broker} {did} ({failure})"
    made: BackendError
    if failure.name == UNAUTHORIZED:
        made = AccessDenied(f"{text}; check the rights of the user")
    elif failure.name in ("amqp:not-found", "amqp:precondition-failed"):
        made = AddressRefused(text)
    else:
        made = SendRefused(text)
    made.__cause__ = failure
    return made
