"""The connections to the brokers: options, the relay between them and the client library, errors."""

__all__: list[str] = []
