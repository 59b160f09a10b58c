"""Names that one process may use only once where the broker does not check it: client ids, durable subscriptions."""

import threading

__all__ = ["Claims", "claims"]


class Claims:
    """A set of names in use; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _held
        self._held: set[tuple[str, ...]] = set()

    def take(self, claim: tuple[str, ...]) -> bool:
        """Take a name; false if it is in use."""
        with self._lock:
            free = claim not in self._held
            self._held.add(claim)
            return free

    def release(self, claim: tuple[str, ...]) -> None:
        """Release a name; does nothing if it is free."""
        with self._lock:
            self._held.discard(claim)


claims = Claims()
"""The claims of this process."""
