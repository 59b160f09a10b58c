"""The pair of connections to a broker: sockets, options, credentials, and why a connection fails."""

__all__: list[str] = []
