"""Cases that use only the SPI: what every backend promises, verb by verb."""

__all__: list[str] = []
