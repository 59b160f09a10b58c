"""Keeping a connection on a living link: reconnecting, temporary destinations, senders that have to pause."""

__all__: list[str] = []
