"""What the machinery runs on: threads, clock, locks, waits, and calls that a signal handler cannot divide."""

__all__: list[str] = []
