"""The selector language, and who gets what."""

__all__: list[str] = []
