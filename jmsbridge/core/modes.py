"""Acknowledgement and delivery modes, and the policy of each acknowledgement mode."""

from collections.abc import Callable
from enum import IntEnum

import msgspec

from jmsbridge.core.receiving.acknowledgement import (
    AcknowledgePolicy,
    AutoPolicy,
    ClientPolicy,
    DupsOkPolicy,
    IndividualPolicy,
    NoAcknowledgePolicy,
    PreAcknowledgePolicy,
)
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.errors import InvalidArgumentException

__all__ = [
    "AUTO_ACKNOWLEDGE",
    "CLIENT_ACKNOWLEDGE",
    "DUPS_OK_ACKNOWLEDGE",
    "INDIVIDUAL_ACKNOWLEDGE",
    "NO_ACKNOWLEDGE",
    "PRE_ACKNOWLEDGE",
    "SESSION_TRANSACTED",
    "DeliveryMode",
    "DupsOk",
    "make_policy",
    "session_mode",
]

SESSION_TRANSACTED = 0
AUTO_ACKNOWLEDGE = 1
CLIENT_ACKNOWLEDGE = 2
DUPS_OK_ACKNOWLEDGE = 3
PRE_ACKNOWLEDGE = 100
INDIVIDUAL_ACKNOWLEDGE = 101
NO_ACKNOWLEDGE = 102

_NAMES = {
    "SESSION_TRANSACTED": SESSION_TRANSACTED,
    "AUTO_ACKNOWLEDGE": AUTO_ACKNOWLEDGE,
    "CLIENT_ACKNOWLEDGE": CLIENT_ACKNOWLEDGE,
    "DUPS_OK_ACKNOWLEDGE": DUPS_OK_ACKNOWLEDGE,
    "PRE_ACKNOWLEDGE": PRE_ACKNOWLEDGE,
    "INDIVIDUAL_ACKNOWLEDGE": INDIVIDUAL_ACKNOWLEDGE,
    "NO_ACKNOWLEDGE": NO_ACKNOWLEDGE,
}
_MODES = frozenset(_NAMES.values())


class DeliveryMode(IntEnum):
    """How safely the broker keeps a message (section 3.4.2).

    PERSISTENT_GROUPACK is PERSISTENT for the broker; the producer waits for confirmation once per group of messages.
    """

    NON_PERSISTENT = 1
    PERSISTENT = 2
    PERSISTENT_GROUPACK = 3


class DupsOk(msgspec.Struct, frozen=True):
    """DUPS_OK_ACKNOWLEDGE acknowledges every ``messages`` messages or ``interval`` seconds; 0 disables that one."""

    messages: int
    interval: float


def session_mode(value: object) -> int:
    """A valid session mode; InvalidArgument otherwise."""
    if isinstance(value, bool):
        raise InvalidArgumentException(f"{value!r} is not a session mode: write SESSION_TRANSACTED or another mode")
    if not isinstance(value, int) or isinstance(value, DeliveryMode) or value not in _MODES:
        raise InvalidArgumentException(f"{value!r} is not a session mode: {', '.join(_NAMES)}")
    return value


def make_policy(
    mode: int, dups_ok: DupsOk, clock: Clock, wake: Callable[[], None], wait: float | None
) -> AcknowledgePolicy:
    """The acknowledgement policy of a session that is not transacted.

    DUPS_OK without count and interval behaves like CLIENT_ACKNOWLEDGE, with a count of 1 and no interval like AUTO.
    """
    if mode == DUPS_OK_ACKNOWLEDGE:
        if not dups_ok.messages and not dups_ok.interval:
            return ClientPolicy(wait)
        if dups_ok.messages == 1 and not dups_ok.interval:
            return AutoPolicy(wait)
        return DupsOkPolicy(dups_ok.messages, dups_ok.interval, clock, wake, wait)
    if mode == CLIENT_ACKNOWLEDGE:
        return ClientPolicy(wait)
    if mode == INDIVIDUAL_ACKNOWLEDGE:
        return IndividualPolicy(wait)
    if mode == PRE_ACKNOWLEDGE:
        return PreAcknowledgePolicy(wait)
    if mode == NO_ACKNOWLEDGE:
        return NoAcknowledgePolicy()
    return AutoPolicy(wait)
