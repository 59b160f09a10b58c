"""Channel exceptions of RabbitMQ as errors of the SPI; each names the thing, the broker and a remedy.

The broker refuses a request by closing its AMQP channel, so a refusal is the reply code and text of that close.
"""

import re
from collections.abc import Callable

from jmsbridge.spi import (
    AccessDenied,
    AddressInUse,
    AddressRefused,
    BackendError,
    ChannelLost,
    NotSupported,
    SendRefused,
)

__all__ = ["ChannelException", "is_exclusive_use", "out_of_channels", "oversize", "refusal"]


class ChannelException(Exception):
    """The broker closed a channel, with a reply code and text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code
        self.text = text


_OVERSIZE = re.compile(r"message size (\d+) is larger than (?:configured )?max size (\d+)")
_ACK_TIMEOUT = re.compile(r"delivery acknowledgement .*timed out|consumer ack timed out", re.IGNORECASE)


def oversize(text: str) -> tuple[int, int] | None:
    """Size and limit, if the broker says that a message was too large."""
    found = _OVERSIZE.search(text)
    return (int(found[1]), int(found[2])) if found else None


def is_exclusive_use(no: ChannelException) -> bool:
    """Whether a consumer was refused because of another consumer, and not for lack of permissions."""
    return no.code == 403 and "exclusive" in no.text


def out_of_channels(what: str, broker: str) -> BackendError:
    """The error for the limit of channels per connection; each session and each consumer uses one."""
    return BackendError(
        f"{what}: this connection to {broker} has reached its limit of channels (channel_max); close sessions or "
        "consumers, or use another connection"
    )


_Kind = Callable[[str], BackendError]

_BY_CODE: dict[int, tuple[_Kind, str]] = {
    311: (SendRefused, "send smaller messages, or raise max_message_size on the broker"),
    402: (NotSupported, "the broker offers no such exchange or queue type"),
    403: (AccessDenied, "grant the user configure, write and read on it (rabbitmqctl set_permissions)"),
    404: (AddressRefused, "create it, or check its name and the virtual host"),
    405: (AddressInUse, "it belongs to another connection; only that one may consume or delete it"),
    406: (AddressRefused, "declare it with its present arguments, or delete it first"),
    530: (AccessDenied, "the broker does not allow it for this user or virtual host"),
    540: (NotSupported, "this version of the broker does not support it"),
}


def refusal(no: ChannelException, what: str, broker: str) -> BackendError:
    """The error for a refused request; ``what`` names the request."""
    kind, remedy = _BY_CODE.get(no.code, (BackendError, "see the broker's log"))
    if no.code == 406:
        kind, remedy = _precondition(no.text)
    made = kind(f"{what}: {broker} refused ({no.code} {no.text}); {remedy}")
    made.__cause__ = no
    return made


def _precondition(text: str) -> tuple[_Kind, str]:
    if oversize(text):
        return SendRefused, "send smaller messages, or raise max_message_size on the broker"
    if _ACK_TIMEOUT.search(text):
        return ChannelLost, (
            "a message was held without acknowledgement for longer than the broker's consumer_timeout: acknowledge "
            "sooner, take a smaller prefetch, or raise consumer_timeout"
        )
    if "unknown delivery tag" in text:
        return ChannelLost, "a message was settled twice, which is a bug of jmsbridge: please report it"
    if "in use" in text:
        return AddressInUse, "close its consumers first"
    return _BY_CODE[406]
