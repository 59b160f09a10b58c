"""Message listeners: the thread that calls them, one message at a time per session."""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from jmsbridge.core.receiving.delivery import Delivery, DeliveryState, DeliverySwitch
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime.executor import NewExecutor
from jmsbridge.errors import MessageFormatException
from jmsbridge.spi import BackendError

if TYPE_CHECKING:
    from jmsbridge.core.receiving.incoming import Incoming

__all__ = ["Listening"]

log = logging.getLogger("jmsbridge.receive")

_HANDED = DeliveryState.HANDED
_AGAIN = "the message will be delivered again: %s"


class Listening:
    """Calls the listeners of one session.

    A receiver that may have a message is queued once; receivers without messages cost nothing. Receivers that have
    messages take turns.
    """

    def __init__(
        self,
        incoming: "Incoming",
        name: str,
        switch: DeliverySwitch,
        new_executor: NewExecutor,
    ) -> None:
        self.executor = new_executor(name, self._serve)
        self.receivers = 0
        """How many receivers have a listener."""
        self.has_recovered = False
        """Whether ``recover`` was called since the current call of a listener began."""
        self._incoming = incoming
        self._hand = incoming.hand
        self._switch = switch
        self._line: deque[Receiver] = deque()  # appended by any thread
        self._current: Receiver | None = None  # the receiver whose listener may be running

    def set(self, receiver: Receiver, listener: Callable[[Any], None] | None) -> None:
        """Set or remove a receiver's listener."""
        self.receivers += (listener is not None) - (receiver.listener is not None)
        receiver.listen(listener, partial(self._join, receiver))

    def remove(self, receiver: Receiver) -> None:
        """The consumer of this receiver is closed."""
        if receiver.listener is not None:
            self.set(receiver, None)

    def _join(self, receiver: Receiver) -> None:
        coming = receiver.turns
        if receiver.joined != coming:
            self._line.append(receiver)
            receiver.joined = coming  # last: after an interrupt it joins again, and joining twice is harmless
        self.executor.wake()

    @property
    def is_idle(self) -> bool:
        """Whether no message can be on its way to a listener now."""
        return not self.receivers and self._current is None

    def is_running(self, receiver: Receiver | None = None) -> bool:
        """Whether the listener of this receiver, or any, is running, and the caller is not in it."""
        current = self._current
        return current is not None and not self.executor.is_current() and receiver in (None, current)

    def close(self) -> None:
        """End the thread."""
        self.executor.close()

    # ---- on the executor

    def _serve(self) -> None:
        while (receiver := self.next_receiver()) is not None:
            try:
                while self._deliver_next(receiver):
                    if self.has_others(receiver):
                        break
            finally:
                self.leave()

    def next_receiver(self) -> Receiver | None:
        """The consumer whose turn it is, until ``leave``; None if there is none that may have a message."""
        line = self._line
        if not (line and self._switch.on):
            return None
        receiver = line.popleft()
        receiver.turns += 1  # before looking for messages: for a later one it joins again
        self._current = receiver  # before the poll: a later close of the receiver waits for its listener
        return receiver

    def has_others(self, receiver: Receiver) -> bool:
        """Whether it is another consumer's turn; this one is then last in line."""
        if not self._line:
            return False
        self._join(receiver)
        return True

    def leave(self) -> None:
        """The turn is over."""
        self._current = None
        self._incoming.listener_returned()

    def _deliver_next(self, receiver: Receiver) -> bool:
        if receiver.listener is None:
            return False
        try:
            delivery = receiver.poll()
            if delivery is None:
                return False
            self._call(receiver, delivery)
        except BackendError as error:  # a confirmed acknowledgement failed
            log.warning(_AGAIN, error)
        finally:
            self._hand.delivery = None
        return True

    def _call(self, receiver: Receiver, delivery: Delivery) -> None:
        taken = self.begin(receiver, delivery)
        if taken is None:
            return
        listener, message = taken
        try:
            listener(message)
        except BaseException as error:  # user code; even SystemExit must not end the thread
            self.end(delivery, error)
        else:
            self.end(delivery, None)

    # ---- the steps around a call, also of a listener that a task awaits

    def begin(self, receiver: Receiver, delivery: Delivery) -> tuple[Callable[[Any], Any], Any] | None:
        """The listener to call for what ``receiver.poll`` gave, and its message; None if there is nothing to call.

        Raises BackendError.
        """
        listener = receiver.listener
        if listener is None:
            delivery.inbox.put_back(delivery)
            return None
        try:
            message = self._incoming.message_of(delivery)
        except MessageFormatException:
            return None  # logged and rejected
        delivery.state = _HANDED
        self._incoming.give(delivery)
        self.has_recovered = False
        return listener, message

    def end(self, delivery: Delivery, error: BaseException | None) -> None:
        """The listener has returned, or raised: settle as the mode requires. Raises BackendError."""
        policy = self._incoming.policy
        if error is not None:
            envelope = delivery.arrival.envelope
            where = (envelope.message_id, envelope.address)
            log.error("the message listener raised on message %s of %s", *where, exc_info=error)
            if policy.automatic:
                self._incoming.redeliver([delivery])
        elif self.has_recovered and policy.automatic:
            self._incoming.redeliver([delivery])
        else:
            policy.after_handover(delivery)
