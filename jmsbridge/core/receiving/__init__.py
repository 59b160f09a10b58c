"""A session's way in, from an arrival to its settlement."""

__all__: list[str] = []
