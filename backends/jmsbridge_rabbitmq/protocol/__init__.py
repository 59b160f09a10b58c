"""AMQP 0-9-1 itself: field tables, property lists, frames, names, refusals. Pure, without pika."""

__all__: list[str] = []
