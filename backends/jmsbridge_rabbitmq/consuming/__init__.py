"""The way in, from a delivery to its settlement."""

__all__: list[str] = []
