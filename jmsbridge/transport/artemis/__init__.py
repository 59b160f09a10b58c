"""What Artemis understands on every wire: its administration by management messages."""

__all__: list[str] = []
