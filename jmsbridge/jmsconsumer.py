"""The simplified API's consumer (Jakarta Messaging 3.1 section 8.1)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from jmsbridge.closing import Closing
from jmsbridge.consumer import MessageConsumer
from jmsbridge.errors import MessageFormatException
from jmsbridge.message import BytesMessage, MapMessage, ObjectMessage, TextMessage
from jmsbridge.unchecked import simplified

__all__ = ["JMSConsumer"]


class JMSConsumer(Closing):
    """A consumer whose exceptions are unchecked; see ``MessageConsumer`` for everything else."""

    def __init__(self, consumer: MessageConsumer) -> None:
        self._consumer = consumer

    @property
    @simplified
    def message_selector(self) -> str | None:
        """The selector; None when there is none."""
        return self._consumer.message_selector

    @property
    def is_cut(self) -> bool:
        """See ``MessageConsumer.is_cut``."""
        return self._consumer.is_cut

    @property
    @simplified
    def message_listener(self) -> Any:
        """See ``MessageConsumer.message_listener``."""
        return self._consumer.message_listener

    @message_listener.setter
    def message_listener(self, listener: Any) -> None:
        self._set_message_listener(listener)

    @simplified
    def _set_message_listener(self, listener: Any) -> None:
        self._consumer.message_listener = listener

    @simplified
    def receive(self, *, timeout: float | timedelta | None = None) -> Any:
        """See ``MessageConsumer.receive``."""
        return self._consumer.receive(timeout=timeout)

    @simplified
    def receive_no_wait(self) -> Any:
        """See ``MessageConsumer.receive_no_wait``."""
        return self._consumer.receive_no_wait()

    @simplified
    def receive_body(self, kind: type, *, timeout: float | timedelta | None = None) -> Any:
        """The next message's body as ``kind``: str, bytes, dict, object; None when nothing came.

        MessageFormatRuntimeException when the message has no body, is a stream, or the type does not fit. In AUTO and
        DUPS_OK the message is then first in line again, unmarked; in the other modes it counts as received (rule
        BO-18).
        """
        return self._consumer._take(timeout, lambda message: _body_of(message, kind))

    def receive_body_no_wait(self, kind: type) -> Any:
        """``receive_body`` of what the broker has right now."""
        return self.receive_body(kind, timeout=0)

    def __iter__(self) -> Iterator[Any]:
        """Receive until the consumer is closed."""
        while not self._consumer._closed:
            message = self.receive()
            if message is None:
                return
            yield message

    @simplified
    def close(self) -> None:
        """See ``MessageConsumer.close``."""
        self._consumer.close()


def _body_of(message: Any, kind: type) -> Any:
    if not isinstance(message, TextMessage | BytesMessage | MapMessage | ObjectMessage):
        raise MessageFormatException(f"a {type(message).__name__} has no body that receive_body could return")
    body = message.get_body(kind)
    if body is None:
        raise MessageFormatException("the message has no body")
    return body
