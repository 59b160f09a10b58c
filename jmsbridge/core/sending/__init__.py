"""Sending in a session, from ``send`` to the broker's answer."""

__all__: list[str] = []
