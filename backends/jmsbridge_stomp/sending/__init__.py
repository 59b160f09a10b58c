"""The way of a message to the broker."""

__all__: list[str] = []
