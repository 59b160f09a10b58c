"""Sending messages (Jakarta Messaging 3.1 chapter 7)."""

from concurrent.futures import Future
from datetime import timedelta
from typing import Any, ClassVar, Unpack, overload

from jmsbridge.closing import Closing
from jmsbridge.core import arguments
from jmsbridge.core.modes import DeliveryMode
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import DESTINATION_KINDS, Destination
from jmsbridge.errors import IllegalStateException, UnsupportedOperationError
from jmsbridge.listeners import as_completion, future_completion
from jmsbridge.message import MESSAGE_KINDS, Message
from jmsbridge.modes import MISSING
from jmsbridge.sending import (
    AsyncOptions,
    Sendable,
    SendOptions,
    SendSettings,
    in_seconds,
    own_message,
    refuse_form,
    setting,
)
from jmsbridge.strict import Strict

__all__ = ["MessageProducer"]


class MessageProducer(Closing, Strict):
    """Sends messages to one destination, or, if anonymous, to the destination that each ``send`` names.

    Belongs to its session's thread. Messages reach the broker in the order of the ``send`` calls over all producers
    of a session (rule OR-1).
    """

    __slots__ = ("__weakref__", "_closed", "_core", "_destination", "_outgoing", "_session", "_settings")
    _session: object
    _advice: ClassVar[dict[str, str]] = {
        "ttl": "write time_to_live",
        "mode": "write delivery_mode",
        "delay": "write delivery_delay",
        "sendMessage": "write send(…)",
        "send_message": "write send(…)",
        "on_completion": "write send(message, completion_listener=…)",
    }

    def __init__(self, core: SessionCore, destination: Destination | None) -> None:
        self._core = core
        self._destination = destination
        self._closed = False
        self._settings = SendSettings()
        core.add_child(self)

    def _check(self) -> None:
        if self._closed:
            raise IllegalStateException("the producer is closed")
        self._core.check_open()

    # ---- attributes

    @property
    def destination(self) -> Destination | None:
        """Where it sends to; None if anonymous."""
        self._check()
        return self._destination

    disable_message_id = setting(
        "_no_id", bool, bool, "Whether messages are sent without JMSMessageID; always honoured."
    )
    disable_message_timestamp = setting(
        "_no_timestamp", bool, bool, "Whether messages are sent without JMSTimestamp; always honoured."
    )
    delivery_mode = setting(
        "mode",
        DeliveryMode,
        arguments.delivery_mode,
        "PERSISTENT, NON_PERSISTENT or PERSISTENT_GROUPACK; JMSException for anything else.",
    )
    priority = setting("priority", int, arguments.priority, "0 to 9, by default 4; JMSException for anything else.")
    time_to_live = setting(
        "ttl", in_seconds, arguments.milliseconds, "Seconds from ``send`` until a message expires; 0 for never."
    )
    delivery_delay = setting(
        "delay", in_seconds, arguments.milliseconds, "Seconds from ``send`` until a message may be delivered."
    )

    @property
    def unacknowledged(self) -> tuple[Message, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._settings.unacknowledged()

    # ---- sending

    @overload
    def send(self, message: Sendable, /, **options: Unpack[SendOptions]) -> None: ...
    @overload
    def send(self, destination: Destination, message: Sendable, /, **options: Unpack[SendOptions]) -> None: ...
    def send(  # size: every form of a send, without a call in between
        self,
        first: Any,
        second: Any = MISSING,
        /,
        *more: Any,
        delivery_mode: int | None = None,
        priority: int | None = None,
        time_to_live: float | timedelta | None = None,
        completion_listener: Any = MISSING,
        duplicate_id: str | None = None,
    ) -> None:
        """``send(message)``, or ``send(destination, message)`` on an anonymous producer.

        ``message`` may be a plain body: text, bytes or a mapping. ``time_to_live`` is in seconds; what is not given is
        as the producer says. Without ``completion_listener``, ``send`` returns when the broker has confirmed (as the
        blocking options say). With one it returns at once, and the message must not be used before the listener is
        called (section 7.3). UnsupportedOperationError for the wrong form, InvalidDestination for a bad destination,
        MessageFormat for what is not a message, InDoubt when the outcome is unknown.
        """
        if self._closed:
            self._check()
        self._core.begin()
        listener = None if completion_listener is MISSING else as_completion(completion_listener)
        if second is MISSING:
            destination, message = self._destination, first
            if destination is None:
                raise UnsupportedOperationError("an anonymous producer needs send(destination, message)")
        else:
            if more or isinstance(first, Message):
                refuse_form("send", first, more if isinstance(first, Destination) else (second, *more))
            destination, message = first, second
            if self._destination is not None:
                raise UnsupportedOperationError("a producer with a destination needs send(message)")
            if type(destination) not in DESTINATION_KINDS:
                arguments.destination(destination)
        settings = self._settings
        mode = settings.mode if delivery_mode is None else arguments.delivery_mode(delivery_mode)
        level = settings.priority if priority is None else arguments.priority(priority)
        ttl = settings.ttl if time_to_live is None else arguments.milliseconds(time_to_live)
        foreign = None
        if type(message) not in MESSAGE_KINDS:
            message, foreign = own_message(message, objects=False)
        if duplicate_id is not None and not isinstance(duplicate_id, str):
            raise ValueError(f"duplicate_id must be text, not {duplicate_id!r}")
        self._core.send(
            settings, destination, message, foreign, mode, level, ttl, settings.delay, listener, duplicate_id
        )

    @overload
    def send_async(self, message: Sendable, /, **options: Unpack[AsyncOptions]) -> Future[Message]: ...
    @overload
    def send_async(
        self, destination: Destination, message: Sendable, /, **options: Unpack[AsyncOptions]
    ) -> Future[Message]: ...
    def send_async(self, *what: Any, **options: Any) -> Future[Message]:
        """``send`` with a future instead of a listener; completed in send order, on the completion thread.

        The future's result is the message, its exception what ``on_exception`` would get. Raises what ``send`` raises.
        """
        future: Future[Message] = Future()
        self.send(*what, completion_listener=future_completion(future), **options)
        return future

    # ---- end

    def close(self) -> None:
        """Wait for incomplete asynchronous sends and their callbacks, then close; idempotent.

        IllegalState from a completion listener of its own session (rule CL-9).
        """
        if self._closed or self._core.connection.is_forked:
            self._closed = True
            return
        self._core.forbid_in_completion("close")
        wait_whole(self._close, to_the_end=True)

    def _close(self) -> None:
        core, group = self._core, self._settings._group
        timeout = core.connection.options.close_timeout
        core.outgoing.finish(timeout, self._settings._last_async)
        core.forget_child(self)
        self._closed = True
        if group is not None:
            core.outgoing.forget_group(group)
            group.wait_confirmed(timeout)

    def _shut(self) -> None:
        """Called when the session closes; all sends are finished by then."""
        self._closed = True
