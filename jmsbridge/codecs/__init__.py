"""Encodings that more than one backend needs: Java's number text, modified UTF-8, Java object serialisation.

Import the modules one by one (``from jmsbridge.codecs import mutf8``). None of them depends on messages or brokers.
"""

__all__ = ["javaserial", "javastream", "javatext", "mutf8"]
