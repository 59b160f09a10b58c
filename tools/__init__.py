"""What the project checks about itself; no part of the wheel."""

__all__: list[str] = []
