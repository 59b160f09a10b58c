"""AMQP 0-9-1: field tables, property lists, frames, names, channel exceptions. Pure, without pika."""

__all__: list[str] = []
