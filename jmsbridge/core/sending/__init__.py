"""A session's way out, from ``send`` to the broker's answer."""

__all__: list[str] = []
