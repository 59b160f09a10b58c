"""The facade's options and their defaults."""

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


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set about a connection, whatever the broker.

    Durations are seconds, 24 days at most; a call may give a ``timedelta``, a URL or profile text such as ``250ms``,
    ``2s`` or ``1m``. Where something can be without limit, -1 and ``"unlimited"`` say so.
    """

    connect_timeout: Timeout = 15.0
    """How long opening one link may take."""
    send_timeout: Seconds = 60.0
    """How long a synchronous send waits for the broker; then its outcome is unknown."""
    close_timeout: Seconds = 30.0
    """How long closing waits for the broker; incomplete sends then fail, in order."""
    reconnect_delay: Seconds = 0.1
    """The first pause before a new link is tried; doubles from try to try, with jitter."""
    reconnect_delay_max: Seconds = 30.0
    """The longest pause between two tries."""
    reconnect_attempts: CountOrNone = None
    """How many tries in a row before the connection gives up; None tries for ever, 0 never."""
    prefetch: Count = 250
    """How many messages a consumer may hold ahead of the application; 0 fetches one per ``receive``."""
    send_window: Positive = 1000
    """How many asynchronous sends of a session may wait for their answer before the next one blocks; as many again of
    those that nobody waits for."""
    confirmation_window_size: PositiveOrNone = None
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
    max_redeliveries: Limit = 6
    """How often a message is delivered again before it goes to the dead-letter queue; -1: always, without limit."""
    redelivery_delay_first: Seconds = 0.0
    """The pause before the first redelivery; 0: at once."""
    redelivery_delay: Seconds = 0.1
    """The pause before the second redelivery."""
    redelivery_factor: Factor = 2.0
    """How many times as long each further pause is; 1: all the same."""
    redelivery_delay_max: LongestPause = 5.0
    """The longest pause before a redelivery, but for the first one."""
    redelivery: dict[str, RedeliveryPolicy] = {}
    """The same for single destinations, by name, each with its own dead-letter and expiry queue."""
    dups_ok_messages: Count = 100
    """DUPS_OK acknowledges at the latest after this many messages, or an eighth of the prefetch; 0 counts none."""
    dups_ok_interval: Seconds = 0.5
    """DUPS_OK acknowledges at the latest after this time; 0 for no limit. Both 0: as CLIENT_ACKNOWLEDGE."""
    group_ack_threshold: Positive = 100
    """PERSISTENT_GROUPACK asks for a confirmation every so many messages."""
    emulation: _Emulation | dict[str, _Emulation] = "default"
    """What to do about features that the broker lacks, for all of them or by feature."""
    emulation_limit: Positive = 1000
    """How many messages an emulated browser, selector on a queue, or delivery delay of a session may hold."""
    client_id: str | None = None
    """The client identifier (section 6.1.2)."""
