"""Checks of the application's arguments; they raise the exceptions that the specification asks for."""

from datetime import timedelta
from typing import NoReturn

from jmsbridge.core.runtime.warning import warn
from jmsbridge.destinations import Destination, Queue, Topic
from jmsbridge.errors import (
    DurationWarning,
    InvalidArgumentException,
    InvalidCall,
    InvalidDestinationException,
    InvalidSelectorException,
    JMSException,
)
from jmsbridge.selectors import SelectorError, compile_selector

__all__ = [
    "count",
    "delivery_mode",
    "destination",
    "milliseconds",
    "positive",
    "priority",
    "queue",
    "refuse_positional_timeout",
    "seconds",
    "selector",
    "subscription_name",
    "topic",
]


_LONGEST = 1e17  # milliseconds: three million years, far inside a Java long


def destination(value: object) -> Destination:
    """Any destination; InvalidDestination for None and everything else."""
    if not isinstance(value, Destination):
        raise InvalidDestinationException(f"{value!r} is not a destination; create_queue or create_topic makes one")
    return value


def queue(value: object) -> Queue:
    """A queue; InvalidDestination otherwise."""
    if not isinstance(value, Queue):
        raise InvalidDestinationException(f"{value!r} is not a queue; create_queue makes one")
    return value


def topic(value: object) -> Topic:
    """A topic; InvalidDestination otherwise."""
    if not isinstance(value, Topic):
        raise InvalidDestinationException(f"{value!r} is not a topic; create_topic makes one")
    return value


def selector(text: str | None) -> str | None:
    """The selector, checked; None for None and for the empty string (rules SE-1, SE-2)."""
    if text is None or text == "":
        return None
    try:
        compile_selector(text)
    except SelectorError as error:
        raise InvalidSelectorException(str(error)) from error
    except TypeError as error:
        raise InvalidSelectorException(f"a selector is a string, not {type(text).__name__}") from error
    return text


def subscription_name(name: object) -> str:
    """The name of a shared or durable subscription: a non-empty string (rule SU-3)."""
    if not isinstance(name, str) or not name:
        raise JMSException(f"{name!r} is not a subscription name: it must be a non-empty string")
    return name


def seconds(value: float | timedelta) -> float:
    """A duration in seconds; InvalidArgument when negative or not a number.

    An int of whole thousands, such as 5000, causes a DurationWarning: it looks like Java's milliseconds, and a message
    that lives a thousand times too long goes unnoticed. A float or a timedelta causes none.
    """
    if type(value) is float and value >= 0:
        return value
    if isinstance(value, timedelta):
        return seconds(value.total_seconds())
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidArgumentException(f"{value!r} is not a duration: seconds of 0 or more, or a timedelta")
    if isinstance(value, int) and value and value % 1000 == 0:
        _warn_of_milliseconds(value)
    return float(value)


def _warn_of_milliseconds(value: int) -> None:
    warn(
        f"durations are seconds, and {value} of them are {timedelta(seconds=min(value, 10**12))}. "
        f"If you mean milliseconds, as in Java, write {value / 1000:g}; if not, write {value}.0 or a timedelta",
        DurationWarning,
    )


def refuse_positional_timeout(call: str, given: tuple[object, ...]) -> NoReturn:
    """Refuse a positional time-out, which in Java is in milliseconds; ``call`` is a pattern such as ``receive({})``."""
    value = given[0]
    if len(given) > 1 or isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidCall(f"the time-out is a keyword argument, in seconds: {call.format('timeout=2.5')}")
    wrong = call.format(value)
    java = call.format(f"timeout={value / 1000:g}") if value else f"{call.format('')}, which waits for ever,"
    here = call.format(f"timeout={value:g}")
    what = f"waits {value:g} s" if value else "does not wait"
    raise InvalidCall(f"the time-out is a keyword argument, in seconds: write {java} for Java's {wrong}; {here} {what}")


def count(value: object, name: str) -> int:
    """A number of 0 or more; InvalidArgument otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgumentException(f"{name} must be a number of 0 or more, not {value!r}")
    return value


def positive(value: object, name: str) -> int:
    """A number of 1 or more; InvalidArgument otherwise."""
    number = count(value, name)
    if number < 1:
        raise InvalidArgumentException(f"{name} must be 1 or more")
    return number


def milliseconds(value: float | timedelta) -> int:
    """A duration in whole milliseconds; anything above 0 is at least 1."""
    result = seconds(value) * 1000
    if result > _LONGEST:
        raise InvalidArgumentException(f"{value!r} is too long a duration for a message")
    return max(1, round(result)) if result else 0


def delivery_mode(value: object) -> int:
    """One of the three delivery modes; InvalidArgument otherwise (rule DM-2)."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in (1, 2, 3):
        raise InvalidArgumentException(
            f"{value!r} is not a delivery mode: NON_PERSISTENT, PERSISTENT or PERSISTENT_GROUPACK of DeliveryMode"
        )
    return value


def priority(value: object) -> int:
    """0 to 9; InvalidArgument otherwise (rule DM-2)."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 9:
        raise InvalidArgumentException(f"{value!r} is not a priority: 0 to 9")
    return value
