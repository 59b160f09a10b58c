"""Envelopes as frames and back, for each product; start at ``wire``. Pure."""

__all__: list[str] = []
