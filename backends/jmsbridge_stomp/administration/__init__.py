"""Administration of Artemis over STOMP."""

__all__: list[str] = []
