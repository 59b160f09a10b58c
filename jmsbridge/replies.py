"""What requestors of threads and of tasks have in common: their checks, and replies that come late."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from jmsbridge.core.session import SessionCore
from jmsbridge.errors import IllegalStateException, InvalidDestinationException
from jmsbridge.message import Message, message_for_body

__all__ = ["GivenUp", "check_requestor", "request_of"]

_MOST = 1000


def check_requestor(core: SessionCore, destination: object) -> None:
    """InvalidDestination without a destination, IllegalState if the session does not acknowledge by itself."""
    if destination is None:
        raise InvalidDestinationException("a requestor needs a destination")
    if not core.incoming.policy.automatic:
        raise IllegalStateException("a requestor needs a session that acknowledges automatically")


def request_of(message: Any) -> Any:
    """The message to send: for a plain body a new one; those of other providers have the same setters."""
    body = isinstance(message, str | bytes | bytearray | memoryview | Mapping)
    return message_for_body(message) if body else message


class GivenUp:
    """The last requests of a requestor that were given up; it asks one after the other."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: deque[str] = deque(maxlen=2 * _MOST)

    def add(self, asking: Any) -> None:
        """This request timed out, or failed: its reply may still come."""
        ids = asking.jms_message_id, asking.jms_correlation_id
        self._ids.extend(each for each in ids if each is not None)

    def has(self, reply: Message, asking: Any) -> bool:
        """Whether the reply belongs to one of them and not to this request."""
        answered = reply.jms_correlation_id
        return answered in self._ids and answered != asking.jms_correlation_id
