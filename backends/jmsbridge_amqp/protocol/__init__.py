"""The type system of AMQP 1.0 on bytes: ``writing`` encodes values, ``reading`` decodes them. Pure."""

__all__ = ["errors", "reading", "writing"]
