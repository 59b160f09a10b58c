"""Envelopes as RabbitMQ messages and back, in two dialects; start at ``wire``. Pure."""

__all__: list[str] = []
