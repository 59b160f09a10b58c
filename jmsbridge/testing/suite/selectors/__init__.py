"""The selector language, and which consumers get which messages."""

__all__: list[str] = []
