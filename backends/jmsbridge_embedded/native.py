"""What the embedded broker can do: everything that a broker can."""

from jmsbridge.spi import Native

__all__ = ["NATIVE"]

NATIVE: Native = ~(Native.SELF_HEALING | Native.EARLY_ENLIST)
"""All but two, which describe clients that need help rather than brokers that give it."""
