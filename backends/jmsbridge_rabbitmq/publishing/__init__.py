"""Sending, from ``Channel.send`` to the broker's confirm."""

__all__: list[str] = []
