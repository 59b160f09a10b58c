"""What an application listens to, and what it wants to happen there: the settings of one listener, checked."""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from inspect import iscoroutinefunction

import msgspec

from jmsbridge.app.parameters import Call
from jmsbridge.config import RedeliveryPolicy
from jmsbridge.core import arguments
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE, SESSION_TRANSACTED, session_mode
from jmsbridge.destinations import Destination, Topic
from jmsbridge.documents import destination_named
from jmsbridge.errors import ConfigurationError, InvalidArgumentException, InvalidSelectorException, JMSException
from jmsbridge.message import Message

__all__ = ["AnyErrorHandler", "AnyPolicy", "Decision", "Listener", "concurrency_of", "mode_of", "where"]


class Decision(Enum):
    """What an error handler may return about the message of a listener that failed."""

    REDELIVER = "redeliver"
    """Deliver it again, as the redelivery policy says; the same as returning None."""
    DEAD_LETTER = "dead-letter"
    """Move it to the dead-letter queue now."""
    ACCEPT = "accept"
    """It counts as handled; what the listener sent before it failed is sent."""


AnyErrorHandler = Callable[[BaseException, Message], Decision | None]
AnyPolicy = RedeliveryPolicy | Mapping[str, object]


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """One function and the destination that it listens to; ``App.listener`` describes the fields."""

    name: str
    call: Call
    destination: Destination
    mode: int
    least: int
    most: int
    selector: str | None = None
    subscription: str | None = None
    durable: bool = True
    shared: bool = True
    prefetch: int | None = None
    send_to: Destination | None = None
    redelivery: AnyPolicy | None = None
    on_error: AnyErrorHandler | None = None
    deadline: float | None = None

    def check(self) -> None:
        """ConfigurationError if its settings do not fit together."""
        topic = isinstance(self.destination, Topic)
        self._check_values()
        if self.subscription is not None and not topic:
            raise ConfigurationError(f"listener {self.name}: only a topic has subscriptions; write 'topic:NAME'")
        if self.subscription is not None and not self.durable and not self.shared:
            raise ConfigurationError(
                f"listener {self.name}: a subscription that is neither durable nor shared has no name: "
                "leave subscription=… out"
            )
        if topic and self.most > 1 and (self.subscription is None or not self.shared):
            raise ConfigurationError(
                f"listener {self.name}: {self.most} consumers of a topic would each get every message; "
                "give it a shared subscription (subscription=…), or concurrency=1"
            )
        if self.on_error is not None and (not callable(self.on_error) or iscoroutinefunction(self.on_error)):
            raise ConfigurationError(f"listener {self.name}: on_error must be a plain function, not {self.on_error!r}")
        if self.send_to is not None and self.call.returns is None:
            raise ConfigurationError(f"listener {self.name} returns nothing to send to {self.send_to}")

    def _check_values(self) -> None:
        try:
            arguments.selector(self.selector)
        except InvalidSelectorException as error:
            raise ConfigurationError(f"listener {self.name}: {self.selector!r}: {error}") from None
        try:
            if self.prefetch is not None:
                arguments.count(self.prefetch, "prefetch")
            if self.subscription is not None:
                arguments.subscription_name(self.subscription)
        except JMSException as error:
            raise ConfigurationError(f"listener {self.name}: {error}") from None

    @property
    def pattern(self) -> str:
        """Its destination in the option ``redelivery``."""
        return str(self.destination.address)


def where(destination: Destination | str) -> Destination:
    """A destination, or the one that a text names."""
    return _named(destination) if isinstance(destination, str) else arguments.destination(destination)


@lru_cache(1000)
def _named(text: str) -> Destination:
    found = destination_named(text)
    return type(found)(str(found))  # which refuses a name that has a special meaning for Java's clients


def concurrency_of(value: int | tuple[int, int], name: str) -> tuple[int, int]:
    """The smallest and the largest number of consumers."""
    match value:
        case bool():
            pass
        case int(number) if number >= 1:
            return number, number
        case (int(least), int(most)) if 1 <= least <= most:
            return least, most
    raise ConfigurationError(f"listener {name}: concurrency must be a number, or (from, to), not {value!r}")


def mode_of(call: Call, transacted: bool | None, acknowledge: int | None, name: str) -> int:
    """The session mode: a transaction where the listener may send, unless the application says otherwise."""
    if transacted and acknowledge is not None:
        raise ConfigurationError(f"listener {name}: a transacted listener has no acknowledge mode")
    if acknowledge is not None:
        try:
            return session_mode(acknowledge)
        except InvalidArgumentException as error:
            raise ConfigurationError(f"listener {name}: {error}") from None
    wanted = call.may_send if transacted is None else transacted
    return SESSION_TRANSACTED if wanted else AUTO_ACKNOWLEDGE
