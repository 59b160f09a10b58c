"""The six message kinds, one module each; import them from ``jmsbridge.message``."""

__all__ = [
    "arriving",
    "base",
    "binary",
    "foreign",
    "headers",
    "mapping",
    "names",
    "objects",
    "properties",
    "stream",
    "text",
    "typed",
]
