"""Administration by the brokers' REST interface."""

__all__: list[str] = []
