"""Headers, properties and bodies."""

__all__: list[str] = []
