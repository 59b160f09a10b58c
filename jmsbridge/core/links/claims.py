"""Names that one process may use only once where the broker does not check it: client ids, durable subscriptions."""

import threading

__all__ = ["release", "take"]

_lock = threading.Lock()  # guards _held
_held: set[tuple[str, ...]] = set()


def take(claim: tuple[str, ...]) -> bool:
    """Take a name; false if it is in use."""
    with _lock:
        free = claim not in _held
        _held.add(claim)
        return free


def release(claim: tuple[str, ...] | None) -> None:
    """Release a name; does nothing if it is free, or None."""
    with _lock:
        if claim is not None:
            _held.discard(claim)
