"""Threads, timers, locks, waits, and steps that a signal handler cannot interrupt."""

__all__: list[str] = []
