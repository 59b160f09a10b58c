"""For those who write applications: what turns objects into messages and messages into objects.

``converters`` has the converters, which also serve code that uses sessions of its own.
"""

from jmsbridge.app.converters import ConversionException, Converter, JsonConverter

__all__ = ["ConversionException", "Converter", "JsonConverter"]
