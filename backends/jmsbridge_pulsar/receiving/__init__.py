"""Receiving: consumers and readers, settlements, browsing."""

__all__: list[str] = []
