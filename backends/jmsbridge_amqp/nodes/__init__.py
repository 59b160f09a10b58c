"""Queues that must be created before a link can use them, as on RabbitMQ."""

__all__: list[str] = []
