"""Received messages of networked backends: credit, acknowledgements, expiry and dead letters."""

__all__: list[str] = []
