"""Sending: producers and the outcome of each message."""

__all__: list[str] = []
