"""The options of every connection, and their defaults."""

from typing import Literal

import msgspec

from jmsbridge.config.kinds import (
    Count,
    CountOrNone,
    Factor,
    Limit,
    LongestPause,
    Positive,
    PositiveOrNone,
    Seconds,
    Timeout,
)
from jmsbridge.config.redelivery import RedeliveryPolicy

__all__ = ["Options"]

_Emulation = Literal["default", "allow", "refuse"]
_Confirmation = Literal["each", "group"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a connection, for every broker.

    Durations are seconds, at most 24 days; a call may give a ``timedelta``, a URL or profile text such as ``250ms``,
    ``2s`` or ``1m``. Options that can be unlimited take -1 or ``"unlimited"``.
    """

    connect_timeout: Timeout = 15.0
    """How long opening a link to the broker may take."""
    send_timeout: Seconds = 60.0
    """How long a synchronous send waits for the broker; then its outcome is unknown."""
    close_timeout: Seconds = 30.0
    """How long closing waits for the broker; sends that are incomplete then fail, in order."""
    reconnect_delay: Seconds = 0.1
    """The pause after a first failed attempt to reconnect; doubles each time, with jitter. Also between links that are
    lost within a second, up to 0.25 s."""
    reconnect_delay_max: Seconds = 30.0
    """The longest pause between two attempts."""
    reconnect_attempts: CountOrNone = None
    """How many attempts in a row before the connection gives up; None: unlimited, 0: no reconnect."""
    prefetch: Count = 250
    """How many messages may be delivered to a consumer ahead of the application; 0 fetches one per ``receive``."""
    send_window: Positive = 1000
    """How many asynchronous sends of a session may be unconfirmed before the next one blocks; as many again for
    non-blocking sends without a completion listener."""
    send_confirmation: _Confirmation = "each"
    """Whether sends that no call waits for are confirmed one by one ("each"), or many by one commit ("group"), which is
    faster where the broker writes to disk for every confirmation."""
    confirmation_window_size: PositiveOrNone = None
    """The limits of ``send_window`` in bytes of bodies and properties, in addition; None: unlimited."""
    block_on_durable_send: bool = True
    """Whether a synchronous PERSISTENT send waits for the broker's confirmation."""
    block_on_non_durable_send: bool = False
    """Whether a synchronous NON_PERSISTENT send waits for the broker's confirmation."""
    block_on_acknowledge: bool = False
    """Whether acknowledging waits until the broker has recorded it."""
    resend: bool = False
    """Whether a blocking send that was not confirmed is sent again on a new link, under the same message id. Sends that
    are asynchronous, in a group or in a transaction are never sent again: they are reported as unknown."""
    max_redeliveries: Limit = 6
    """How often a message is delivered again before it goes to the dead-letter queue; -1: unlimited."""
    redelivery_delay_first: Seconds = 0.0
    """The pause before the first redelivery; 0: at once."""
    redelivery_delay: Seconds = 0.1
    """The pause before the second redelivery."""
    redelivery_factor: Factor = 2.0
    """The factor by which each further pause is longer; 1: constant."""
    redelivery_delay_max: LongestPause = 5.0
    """The longest pause before a redelivery, except the first."""
    redelivery: dict[str, RedeliveryPolicy] = {}
    """Redelivery of single destinations, by name, each with its own dead-letter and expiry queue."""
    dups_ok_messages: Count = 100
    """DUPS_OK acknowledges at the latest after this many messages, or after an eighth of the prefetch if that is less;
    0: no limit."""
    dups_ok_interval: Seconds = 0.5
    """DUPS_OK acknowledges at the latest after this time; 0: no limit. If this and ``dups_ok_messages`` are both 0,
    DUPS_OK acknowledges only when the application does, as CLIENT_ACKNOWLEDGE."""
    group_ack_threshold: Positive = 100
    """The number of PERSISTENT_GROUPACK messages after which a confirmation is requested."""
    emulation: _Emulation | dict[str, _Emulation] = "default"
    """What to do about features that the broker lacks, for all or by feature."""
    emulation_limit: Positive = 1000
    """How many messages an emulated browser, selector on a queue, or delivery delay of a session may hold."""
    telemetry: bool = False
    """Whether OpenTelemetry gets spans and metrics, and messages carry the trace context; needs the extra ``otel``."""
    client_id: str | None = None
    """The client identifier (section 6.1.2)."""
