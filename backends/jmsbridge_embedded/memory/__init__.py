"""The embedded broker in memory: its links, channels and subscriptions; what is stored is in the package ``queues``."""

__all__: list[str] = []
