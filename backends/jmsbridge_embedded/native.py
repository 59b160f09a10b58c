"""What the embedded broker can do: everything that a broker can."""

from jmsbridge.spi import Native

__all__ = ["NATIVE"]

NATIVE: Native = ~Native.NONE
"""All of them."""
