"""What a broker in memory stores, the order of its messages, and which consumer gets which."""

__all__: list[str] = []
