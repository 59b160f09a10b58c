"""Local transactions: the coordinator link, and one transaction of a channel."""

__all__: list[str] = []
