"""What stands on the broker for queues, topics and subscriptions, and the conversations that make it."""

__all__: list[str] = []
