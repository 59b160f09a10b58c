"""Connections, client ids, sessions and their modes, threads, the domain-specific classes."""

__all__: list[str] = []
