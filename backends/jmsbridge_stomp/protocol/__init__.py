"""Frames of STOMP 1.0, 1.1 and 1.2 as bytes: ``frames`` writes them, ``parsing`` reads them. No I/O, no threads."""

__all__: list[str] = []
