"""Delivery states of AMQP 1.0 (section 3.4 and 4.5 of the specification)."""

from typing import Any, Final

__all__ = ["ACCEPTED", "DECLARED", "MODIFIED", "RECEIVED", "REJECTED", "RELEASED", "TRANSACTIONAL", "outcome_in"]

RECEIVED: Final = 0x23
ACCEPTED: Final = 0x24
REJECTED: Final = 0x25
RELEASED: Final = 0x26
MODIFIED: Final = 0x27
DECLARED: Final = 0x33
TRANSACTIONAL: Final = 0x34


def outcome_in(data: Any) -> int:
    """The outcome in the fields of a transactional state, as proton gives them; 0 if there is none."""
    outcome = data[1] if data is not None and len(data) > 1 else None
    return int(getattr(outcome, "descriptor", 0))
