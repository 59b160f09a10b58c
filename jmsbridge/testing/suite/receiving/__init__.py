"""Consumers: acknowledgement, redelivery, browsing."""

__all__: list[str] = []
