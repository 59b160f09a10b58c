"""Keeps a connection on a living link: reconnecting, losses of channels, temporary destinations, claims."""

__all__: list[str] = []
