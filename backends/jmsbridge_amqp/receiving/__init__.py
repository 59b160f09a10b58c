"""Receiving: sources, receivers with credit and drain, settlements."""

__all__: list[str] = []
