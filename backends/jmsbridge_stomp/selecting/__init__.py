"""Selectors as brokers evaluate them, on messages whose properties are texts."""

__all__: list[str] = []
