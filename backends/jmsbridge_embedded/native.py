"""The embedded broker's product name and capabilities: it has all of them."""

from importlib.metadata import PackageNotFoundError, version

from jmsbridge.spi import Native

__all__ = ["NATIVE", "product"]

NATIVE: Native = ~Native.NONE


def product() -> str:
    """Name and version; only the name where jmsbridge is not installed."""
    try:
        return f"jmsbridge embedded broker {version('jmsbridge')}"
    except PackageNotFoundError:
        return "jmsbridge embedded broker"
