"""The connection to the broker: options, proton on the I/O thread, sessions and links, errors."""

__all__: list[str] = []
