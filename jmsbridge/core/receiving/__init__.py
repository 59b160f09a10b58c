"""Receiving in a session, from the arrival of a message to its settlement."""

__all__: list[str] = []
