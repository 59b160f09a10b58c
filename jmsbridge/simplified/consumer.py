"""The simplified API's consumer (Jakarta Messaging 3.1 section 8.1)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar, Never, TypeVar, overload

from jmsbridge.closing import Closing
from jmsbridge.consumer import MessageConsumer
from jmsbridge.core import arguments
from jmsbridge.errors import MessageFormatException
from jmsbridge.listeners import MESSAGE_LISTENER_NAMES, AnyMessageListener
from jmsbridge.message import BytesMessage, MapMessage, Message, ObjectMessage, TextMessage
from jmsbridge.simplified.unchecked import simplified
from jmsbridge.strict import Strict
from jmsbridge.values import JavaValue

__all__ = ["JMSConsumer"]

T = TypeVar("T")


class JMSConsumer(Closing, Strict):
    """A consumer whose exceptions are unchecked; see ``MessageConsumer`` for everything else."""

    __slots__ = ("__weakref__", "_consumer")
    _advice: ClassVar[dict[str, str]] = MESSAGE_LISTENER_NAMES

    def __init__(self, consumer: MessageConsumer) -> None:
        self._consumer = consumer

    @property
    @simplified
    def message_selector(self) -> str | None:
        """The selector, or None."""
        return self._consumer.message_selector

    @property
    def is_truncated(self) -> bool:
        """See ``MessageConsumer.is_truncated``."""
        return self._consumer.is_truncated

    @property
    @simplified
    def message_listener(self) -> AnyMessageListener | None:
        """See ``MessageConsumer.message_listener``."""
        return self._consumer.message_listener

    @message_listener.setter
    @simplified
    def message_listener(self, listener: AnyMessageListener | None) -> None:
        self._consumer.message_listener = listener

    @simplified
    def receive(self, *wrong: Never, timeout: float | timedelta | None = None) -> Message | None:
        """See ``MessageConsumer.receive``."""
        return self._consumer.receive(*wrong, timeout=timeout)

    @simplified
    def receive_no_wait(self) -> Message | None:
        """See ``MessageConsumer.receive_no_wait``."""
        return self._consumer.receive_no_wait()

    @overload
    def receive_body(
        self, kind: type[dict[str, JavaValue]], *, timeout: float | timedelta | None = None
    ) -> dict[str, JavaValue] | None: ...
    @overload
    def receive_body(
        self, kind: type[list[JavaValue]], *, timeout: float | timedelta | None = None
    ) -> list[JavaValue] | None: ...
    @overload
    def receive_body(self, kind: type[T], *, timeout: float | timedelta | None = None) -> T | None: ...
    @simplified
    def receive_body(self, kind: type[Any], *wrong: Never, timeout: float | timedelta | None = None) -> Any:
        """The next message's body as ``kind``: str, bytes, dict, list, object …; None when no message came.

        It waits as ``receive`` does. MessageFormatRuntimeException if the message has no body, is a stream, or the type
        does not fit. In AUTO and DUPS_OK the message is then the next one again, unmarked; in the other modes it counts
        as received (rule BO-18).
        """
        if wrong:
            arguments.refuse_positional_timeout(f"receive_body({getattr(kind, '__name__', kind)}, {{}})", wrong)
        return self._consumer._take(timeout, lambda message: _body_of(message, kind))

    @overload
    def receive_body_no_wait(self, kind: type[dict[str, JavaValue]]) -> dict[str, JavaValue] | None: ...
    @overload
    def receive_body_no_wait(self, kind: type[list[JavaValue]]) -> list[JavaValue] | None: ...
    @overload
    def receive_body_no_wait(self, kind: type[T]) -> T | None: ...
    def receive_body_no_wait(self, kind: type[Any]) -> Any:
        """``receive_body`` without waiting."""
        return self.receive_body(kind, timeout=0)

    def __iter__(self) -> Iterator[Message]:
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


def _body_of(message: Any, kind: type[Any]) -> Any:
    if not isinstance(message, TextMessage | BytesMessage | MapMessage | ObjectMessage):
        raise MessageFormatException(f"a {type(message).__name__} has no body that receive_body could return")
    body = message.get_body(kind)
    if body is None:
        raise MessageFormatException("the message has no body")
    return body
