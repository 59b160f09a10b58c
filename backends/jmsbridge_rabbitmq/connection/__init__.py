"""The pair of connections to a broker: options, login, sockets, errors."""

__all__: list[str] = []
