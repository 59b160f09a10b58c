"""Sending messages from tasks (Jakarta Messaging 3.1 chapter 7)."""

import asyncio
from datetime import timedelta
from typing import Any, ClassVar, Unpack, overload

from jmsbridge import producer as threaded
from jmsbridge.aio.opening import AsyncClosing
from jmsbridge.aio.scope import Scope
from jmsbridge.aio.sends import Send
from jmsbridge.core.modes import DeliveryMode
from jmsbridge.destinations import Destination
from jmsbridge.message import Message
from jmsbridge.modes import MISSING
from jmsbridge.sending import AsyncOptions, Sendable
from jmsbridge.strict import Strict

__all__ = ["MessageProducer"]

_TURN = 64
_NON_PERSISTENT = int(DeliveryMode.NON_PERSISTENT)
_GROUPACK = int(DeliveryMode.PERSISTENT_GROUPACK)


class MessageProducer(AsyncClosing, Strict):
    """Sends messages to one destination, or, if anonymous, to the destination that each ``send`` names.

    Any task of the loop may send. Messages reach the broker in the order in which the sends began, over all producers
    of a session.
    """

    __slots__ = ("__weakref__", "_line", "_scope", "_sync", "_turn", "_waits_durable", "_waits_non_durable")
    _advice: ClassVar[dict[str, str]] = {
        **threaded.MessageProducer._advice,
        "send_async": "await send(…), or start it with asyncio.create_task or asyncio.gather",
    }

    def __init__(self, scope: Scope, sync: threaded.MessageProducer) -> None:
        self._scope = scope
        self._line = scope.line
        options = scope.core.connection.options
        self._waits_durable = options.block_on_durable_send and not scope.core.transacted
        self._waits_non_durable = options.block_on_non_durable_send and not scope.core.transacted
        self._sync = sync
        self._turn = 0

    # ---- attributes

    @property
    def destination(self) -> Destination | None:
        """Where it sends to; None if anonymous."""
        return self._sync.destination

    @property
    def delivery_mode(self) -> DeliveryMode:
        """PERSISTENT, NON_PERSISTENT or PERSISTENT_GROUPACK; JMSException for anything else."""
        return self._sync.delivery_mode

    @delivery_mode.setter
    def delivery_mode(self, mode: int) -> None:
        self._sync.delivery_mode = mode

    @property
    def priority(self) -> int:
        """0 to 9, by default 4; JMSException for anything else."""
        return self._sync.priority

    @priority.setter
    def priority(self, priority: int) -> None:
        self._sync.priority = priority

    @property
    def time_to_live(self) -> float:
        """Seconds from ``send`` until a message expires; 0 for never."""
        return self._sync.time_to_live

    @time_to_live.setter
    def time_to_live(self, duration: float | timedelta) -> None:
        self._sync.time_to_live = duration

    @property
    def delivery_delay(self) -> float:
        """Seconds from ``send`` until a message may be delivered."""
        return self._sync.delivery_delay

    @delivery_delay.setter
    def delivery_delay(self, duration: float | timedelta) -> None:
        self._sync.delivery_delay = duration

    @property
    def disable_message_id(self) -> bool:
        """Whether messages are sent without JMSMessageID; always honoured."""
        return self._sync.disable_message_id

    @disable_message_id.setter
    def disable_message_id(self, disabled: bool) -> None:
        self._sync.disable_message_id = disabled

    @property
    def disable_message_timestamp(self) -> bool:
        """Whether messages are sent without JMSTimestamp; always honoured."""
        return self._sync.disable_message_timestamp

    @disable_message_timestamp.setter
    def disable_message_timestamp(self, disabled: bool) -> None:
        self._sync.disable_message_timestamp = disabled

    @property
    def unacknowledged(self) -> tuple[Message, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._sync.unacknowledged

    # ---- sending

    @overload
    async def send(self, message: Sendable, /, **options: Unpack[AsyncOptions]) -> None: ...
    @overload
    async def send(self, destination: Destination, message: Sendable, /, **options: Unpack[AsyncOptions]) -> None: ...
    async def send(self, first: Any, second: Any = MISSING, /, *more: Any, **options: Any) -> None:
        """``send(message)``, or ``send(destination, message)`` on an anonymous producer.

        Returns when the guarantee asked for is reached: for a persistent message, when the broker has it; in a
        transaction, at once. Many at once keep their order and share the send window; while it is full, the task waits.
        Raises what the synchronous ``send`` raises.

        A cancelled send that has begun goes on: the CancelledError, or the TimeoutError of ``asyncio.timeout``, says
        so, ``aio.in_doubt(error)`` has the message, and its failure is reported to the exception listener.
        """
        line = self._line
        line.check()
        what = (first, *more) if second is MISSING else (first, second, *more)
        mode = options.get("delivery_mode")
        if mode is None:
            mode = self._sync._settings.mode
        if mode == _GROUPACK:
            await line.whole(lambda: self._sync.send(*what, **options), owes=True)
            return
        waits = self._waits_non_durable if mode == _NON_PERSISTENT else self._waits_durable
        send = Send(line, self._sync, what, options, waits)
        line.add(send)
        if not send.ended:
            try:
                await send.expect()
            except asyncio.CancelledError as cancelled:
                send.explain(cancelled)
                raise
            return
        self._turn += 1
        if self._turn % _TURN == 0:
            await _let_others_run()

    async def close(self) -> None:
        """Wait for its sends, then close; idempotent."""
        if not self._sync._closed:
            self._line.port.check()
            if self._line.is_closed:
                self._sync._closed = True
                return
            await self._line.whole(self._sync.close, to_the_end=True)

    def __repr__(self) -> str:
        return f"<aio.{type(self).__name__} of session {self._line.core.name}>"


async def _let_others_run() -> None:
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError as cancelled:
        cancelled.add_note("the message was handed over before the cancellation")
        raise
