"""Links that break."""

__all__: list[str] = []
