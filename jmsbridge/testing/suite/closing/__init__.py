"""Closing connections, sessions, contexts, producers, consumers and browsers."""

__all__: list[str] = []
