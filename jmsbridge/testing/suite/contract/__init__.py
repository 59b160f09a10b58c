"""The SPI alone: what every backend promises, verb by verb."""

__all__: list[str] = []
