"""How everything ends."""

__all__: list[str] = []
