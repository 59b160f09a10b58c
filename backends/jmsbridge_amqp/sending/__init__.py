"""Sending: from a channel's send to the broker's outcome."""

__all__: list[str] = []
