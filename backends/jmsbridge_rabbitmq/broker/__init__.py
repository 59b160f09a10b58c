"""Destinations and subscriptions as RabbitMQ's queues and exchanges, and the conversations that create them."""

__all__: list[str] = []
