"""Receiving, from a delivery to its settlement."""

__all__: list[str] = []
