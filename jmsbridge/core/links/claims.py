"""What one process may hold only once on brokers that do not check it: client ids, unshared durable subscriptions."""

import threading

__all__ = ["Claims", "claims"]


class Claims:
    """A set of names in use; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _held
        self._held: set[tuple[str, ...]] = set()

    def take(self, claim: tuple[str, ...]) -> bool:
        """Whether it was free, and is now taken."""
        with self._lock:
            free = claim not in self._held
            self._held.add(claim)
            return free

    def give_back(self, claim: tuple[str, ...]) -> None:
        """Free it; harmless when it is."""
        with self._lock:
            self._held.discard(claim)


claims = Claims()
"""Those of this process."""
