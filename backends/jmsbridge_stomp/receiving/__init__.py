"""The way of a message from the broker."""

__all__: list[str] = []
