"""What a broker in memory stores, the order of its messages, and who gets which."""

__all__: list[str] = []
