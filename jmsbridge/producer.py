"""Sending messages (Jakarta Messaging 3.1 chapter 7)."""

from collections.abc import Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from jmsbridge.closing import Closing
from jmsbridge.core import arguments
from jmsbridge.core.modes import DeliveryMode
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.sending.group import Group
from jmsbridge.core.session import Child, SessionCore
from jmsbridge.destinations import Destination
from jmsbridge.errors import (
    IllegalStateException,
    InvalidDestinationException,
    MessageFormatException,
    UnsupportedOperationError,
)
from jmsbridge.listeners import as_completion, future_completion
from jmsbridge.message import Message, copy_foreign, message_for_body

__all__ = ["MessageProducer", "own_message"]

_MISSING: Any = object()


class MessageProducer(Closing, Child):
    """Sends messages to one destination, or, when anonymous, to the destination that each ``send`` names.

    Belongs to its session's thread. ``send`` reaches the broker in call order over all producers of a session (rule
    OR-1).
    """

    _unchecked = False

    def __init__(self, engine: SessionCore, destination: Destination | None) -> None:
        self._engine = engine
        self._destination = destination
        self._closed = False
        self._last_async = 0
        self._delivery_mode = 2
        self._priority = 4
        self._ttl = 0
        self._delay = 0
        self._no_id = False
        self._no_timestamp = False
        self._group: Group | None = None
        engine.add_child(self)

    def _check(self) -> None:
        if self._closed:
            raise IllegalStateException("the producer is closed")
        self._engine.check_open()

    # ---- attributes

    @property
    def destination(self) -> Destination | None:
        """Where it sends to; None when anonymous."""
        self._check()
        return self._destination

    @property
    def disable_message_id(self) -> bool:
        """Whether messages are sent without JMSMessageID; honoured."""
        self._check()
        return self._no_id

    @disable_message_id.setter
    def disable_message_id(self, value: bool) -> None:
        self._check()
        self._no_id = bool(value)

    @property
    def disable_message_timestamp(self) -> bool:
        """Whether messages are sent without JMSTimestamp; honoured."""
        self._check()
        return self._no_timestamp

    @disable_message_timestamp.setter
    def disable_message_timestamp(self, value: bool) -> None:
        self._check()
        self._no_timestamp = bool(value)

    @property
    def delivery_mode(self) -> int:
        """PERSISTENT, NON_PERSISTENT or PERSISTENT_GROUPACK; JMSException for anything else."""
        self._check()
        return DeliveryMode(self._delivery_mode)

    @delivery_mode.setter
    def delivery_mode(self, value: int) -> None:
        self._check()
        self._delivery_mode = arguments.delivery_mode(value)

    @property
    def priority(self) -> int:
        """0 to 9, 4 unless set; JMSException for anything else."""
        self._check()
        return self._priority

    @priority.setter
    def priority(self, value: int) -> None:
        self._check()
        self._priority = arguments.priority(value)

    @property
    def time_to_live(self) -> float:
        """Seconds after which a message expires, counted from ``send``; 0 is never."""
        self._check()
        return self._ttl / 1000

    @time_to_live.setter
    def time_to_live(self, value: float | timedelta) -> None:
        self._check()
        self._ttl = arguments.milliseconds(value)

    @property
    def delivery_delay(self) -> float:
        """Seconds before which a message is not delivered, counted from ``send``."""
        self._check()
        return self._delay / 1000

    @delivery_delay.setter
    def delivery_delay(self, value: float | timedelta) -> None:
        self._check()
        self._delay = arguments.milliseconds(value)

    @property
    def unacknowledged(self) -> tuple[Any, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._group.unacknowledged() if self._group is not None else ()

    # ---- sending

    def send(
        self,
        first: Any,
        second: Any = _MISSING,
        /,
        *,
        delivery_mode: int | None = None,
        priority: int | None = None,
        time_to_live: float | timedelta | None = None,
        completion_listener: Any = _MISSING,
        duplicate_id: str | None = None,
    ) -> None:
        """``send(message)``, or ``send(destination, message)`` on an anonymous producer.

        ``message`` may be a plain body: text, bytes or a mapping. Without ``completion_listener`` returns when the
        broker has taken responsibility (as the blocking options say); with one returns at once, and the message may
        not be touched until the listener was called (section 7.3). UnsupportedOperationError for the wrong form,
        InvalidDestination for a bad destination, MessageFormat for what is no message, InDoubt when the outcome is
        unknown.
        """
        if self._closed:
            self._check()
        self._engine.begin()
        listener = None if completion_listener is _MISSING else as_completion(completion_listener)
        if second is _MISSING:
            destination, message = self._destination, first
            if destination is None:
                raise UnsupportedOperationError("an anonymous producer needs send(destination, message)")
        else:
            destination, message = first, second
            if self._destination is not None:
                raise UnsupportedOperationError("a producer with a destination needs send(message)")
            if not isinstance(destination, Destination):
                raise InvalidDestinationException(
                    f"{destination!r} is no destination; create_queue or create_topic makes one"
                )
        mode = self._delivery_mode if delivery_mode is None else arguments.delivery_mode(delivery_mode)
        level = self._priority if priority is None else arguments.priority(priority)
        ttl = self._ttl if time_to_live is None else arguments.milliseconds(time_to_live)
        foreign = None
        if not isinstance(message, Message):
            message, foreign = own_message(message, objects=False)
        if duplicate_id is not None and not isinstance(duplicate_id, str):
            raise ValueError(f"duplicate_id is text, not {duplicate_id!r}")
        self._engine.send(self, destination, message, foreign, mode, level, ttl, self._delay, listener, duplicate_id)

    def send_async(
        self,
        first: Any,
        second: Any = _MISSING,
        /,
        *,
        delivery_mode: int | None = None,
        priority: int | None = None,
        time_to_live: float | timedelta | None = None,
        duplicate_id: str | None = None,
    ) -> "Future[Any]":
        """``send`` with a future instead of a listener; completed in send order, on the completion thread.

        The result is the message, the exception what ``on_exception`` would get. What ``send`` would raise is raised.
        """
        future: Future[Any] = Future()
        self.send(
            *((first,) if second is _MISSING else (first, second)),
            delivery_mode=delivery_mode,
            priority=priority,
            time_to_live=time_to_live,
            completion_listener=future_completion(future),
            duplicate_id=duplicate_id,
        )
        return future

    # ---- end

    def close(self) -> None:
        """Wait for incomplete asynchronous sends and their callbacks, then close; idempotent.

        IllegalState from a completion listener of the own session (rule CL-9).
        """
        if self._closed or self._engine.connection.is_forked:
            self._closed = True
            return
        self._engine.forbid_in_completion("close")
        wait_whole(self._close, to_the_end=True)

    def _close(self) -> None:
        engine = self._engine
        timeout = engine.connection.options.close_timeout
        engine.outgoing.finish(timeout, self._last_async)
        engine.forget_child(self)
        self._closed = True
        if self._group is not None:
            engine.outgoing.forget_group(self._group)
            self._group.wait_confirmed(timeout)

    def _shut(self) -> None:
        """The session is closing; its sends are finished."""
        self._closed = True


def own_message(value: Any, *, objects: bool) -> tuple[Message, Any]:
    """A message of ours for a plain body (no foreign object) or for another provider's message (that object too).

    Text, bytes and mappings are bodies; with ``objects`` so is everything that an ObjectMessage carries.
    """
    if value is None:
        raise MessageFormatException("there is no message to send; create_message makes one without body")
    if hasattr(value, "jms_message_id"):
        return copy_foreign(value), value
    if not objects and not isinstance(value, str | bytes | bytearray | memoryview | Mapping):
        raise MessageFormatException(f"a {type(value).__name__} is no message and no plain body")
    return message_for_body(value), None
