"""Connections of networked backends: the I/O thread and its loop, TCP and TLS, the life of a link, and its errors."""

__all__: list[str] = []
