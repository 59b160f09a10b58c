"""Encodings that more than one backend needs: Java's number text, modified UTF-8, Java object serialisation.

The modules are imported one by one (``from jmsbridge.codecs import mutf8``); none of them knows a message or a broker.
"""

__all__ = ["javaserial", "javatext", "mutf8"]
