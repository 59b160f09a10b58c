"""The facade's options, their defaults, and how text becomes a typed value."""

import math
import re
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec

__all__ = ["Options", "convert_option", "to_seconds"]

_LONGEST = 2_147_483.647  # seconds, 24 days: the longest that every wait of the platform takes, and Java's int too
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=_LONGEST)]
_Timeout = Annotated[float, msgspec.Meta(gt=0, le=_LONGEST)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
_Emulation = Literal["default", "allow", "refuse"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set about a connection, whatever the broker.

    Durations are seconds, 24 days at most; a call may give a ``timedelta``, a URL or profile text such as ``250ms``,
    ``2s`` or ``1m``.
    """

    connect_timeout: _Timeout = 15.0
    """How long opening one link may take."""
    send_timeout: _Seconds = 60.0
    """How long a synchronous send waits for the broker; then its outcome is unknown."""
    close_timeout: _Seconds = 30.0
    """How long closing waits for the broker; incomplete sends then fail, in order."""
    reconnect_delay: _Seconds = 0.1
    """The first pause before a new link is tried; doubles from try to try, with jitter."""
    reconnect_delay_max: _Seconds = 30.0
    """The longest pause between two tries."""
    reconnect_attempts: _Count | None = None
    """How many tries in a row before the connection gives up; None tries for ever, 0 never."""
    prefetch: _Count = 250
    """How many messages a consumer may hold ahead of the application; 0 fetches one per ``receive``."""
    send_window: _Positive = 1000
    """How many asynchronous sends of a session may wait for their answer before the next one blocks; as many again of
    those that nobody waits for."""
    confirmation_window_size: _Positive | None = None
    """The same limits in bytes of bodies and properties; None sets none."""
    block_on_durable_send: bool = True
    """Whether a synchronous PERSISTENT send waits for the broker's answer."""
    block_on_non_durable_send: bool = False
    """Whether a synchronous NON_PERSISTENT send waits for the broker's answer."""
    block_on_acknowledge: bool = False
    """Whether acknowledging waits until the broker has recorded it."""
    resend: bool = False
    """Whether a blocking send without answer is sent again on a new link, under the same message id. Asynchronous sends
    and those of a group or a transaction are never sent again: their outcome is unknown, and told."""
    max_redeliveries: _Count = 6
    """How often a message is delivered again before it goes to the dead-letter queue."""
    redelivery_delay: _Seconds = 0.1
    """The pause before the second redelivery, doubling; the first one happens at once."""
    redelivery_delay_max: _Seconds = 5.0
    """The longest pause before a redelivery."""
    dups_ok_messages: _Count = 100
    """DUPS_OK acknowledges at the latest after this many messages, or an eighth of the prefetch; 0 counts none."""
    dups_ok_interval: _Seconds = 0.5
    """DUPS_OK acknowledges at the latest after this time; 0 for no limit. Both 0: as CLIENT_ACKNOWLEDGE."""
    group_ack_threshold: _Positive = 100
    """PERSISTENT_GROUPACK asks for a confirmation every so many messages."""
    emulation: _Emulation | dict[str, _Emulation] = "default"
    """What to do about features that the broker lacks, for all of them or by feature."""
    emulation_limit: _Positive = 1000
    """How many messages an emulated browser, selector on a queue, or delivery delay of a session may hold."""
    client_id: str | None = None
    """The client identifier (section 6.1.2)."""


_DURATION = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(ms|s|m|h|d)?", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def to_seconds(value: object) -> float:
    """A duration as seconds, from a number, a ``timedelta`` or text such as ``"250ms"``; ValueError otherwise."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise ValueError("expected a duration: seconds, or text such as '250ms', '2s', '1m'")
        seconds = float(match[1]) * _UNITS[match[2]]
    if not 0 <= seconds < math.inf:
        raise ValueError("expected a finite duration of 0 or more seconds")
    return seconds


def convert_option(struct: type[msgspec.Struct], name: str, value: object) -> Any:
    """The value that field ``name`` of ``struct`` gets from what was given; ValueError says what was expected.

    Text is read leniently (``"true"``, ``"250"``, ``"none"``), everything else must already have the right type. A
    field of type float is a duration.
    """
    field = next(field for field in msgspec.structs.fields(struct) if field.name == name)
    kinds = _alternatives(msgspec.inspect.type_info(field.type))
    if isinstance(value, str) and not any(isinstance(kind, msgspec.inspect.StrType) for kind in kinds):
        if value.lower() in {"none", "null"} and any(isinstance(kind, msgspec.inspect.NoneType) for kind in kinds):
            return None
        value = value.strip()
    if value is not None and any(isinstance(kind, msgspec.inspect.FloatType) for kind in kinds):
        value = to_seconds(value)
    try:
        return msgspec.convert(value, field.type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        expected = _without_value(str(error), kinds)
    raise ValueError(expected)


def _alternatives(kind: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    return kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)


def _without_value(text: str, kinds: tuple[msgspec.inspect.Type, ...]) -> str:
    if "Invalid enum value" not in text:
        return (text[:1].lower() + text[1:]).replace("`float`", "seconds")
    # "Invalid enum value 'hunter2'" repeats what was given, and that may be a secret.
    values = [str(value) for kind in kinds if isinstance(kind, msgspec.inspect.LiteralType) for value in kind.values]
    return f"expected {' or '.join(values)}" if values else "not one of the values allowed"
