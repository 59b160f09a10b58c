"""The link of a connection: reconnecting, lost channels, temporary destinations, names that may be used only once."""

__all__: list[str] = []
