"""What the embedded broker can do: everything that a broker can."""

from jmsbridge.spi import Native

__all__ = ["NATIVE"]

NATIVE: Native = ~Native.EARLY_ENLIST
"""All but one, which describes brokers that need help rather than give it."""
