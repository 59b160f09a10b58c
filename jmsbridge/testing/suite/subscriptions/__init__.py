"""Durable and shared subscriptions, temporary destinations."""

__all__: list[str] = []
