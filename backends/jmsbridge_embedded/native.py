"""What the embedded broker is called, and what it can do: everything that a broker can."""

from importlib.metadata import PackageNotFoundError, version

from jmsbridge.spi import Native

__all__ = ["NATIVE", "product"]

NATIVE: Native = ~Native.NONE
"""All of them."""


def product() -> str:
    """Name and version, where it is installed."""
    try:
        return f"jmsbridge embedded broker {version('jmsbridge')}"
    except PackageNotFoundError:
        return "jmsbridge embedded broker"
