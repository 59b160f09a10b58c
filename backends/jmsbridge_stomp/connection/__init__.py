"""Connections to the broker: sockets on the I/O thread of a link, the login, the broker's product, errors."""

__all__: list[str] = []
