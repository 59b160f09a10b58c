"""The two errors of the codec."""

__all__ = ["Malformed", "Unencodable"]


class Malformed(ValueError):
    """The bytes are not valid AMQP 1.0; the only error that decoders of this package raise."""


class Unencodable(ValueError):
    """AMQP 1.0 cannot represent a value; the only error that encoders of this package raise."""
