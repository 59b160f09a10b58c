"""How messages are written on AMQP 1.0, as pure functions; start reading at ``wire``."""

__all__ = ["wire"]
