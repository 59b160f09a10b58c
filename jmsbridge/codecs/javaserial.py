"""Java object serialisation, for the values that Python and Java share.

``dumps`` writes what ``java.io.ObjectOutputStream`` writes for None, Boolean, Byte, Short, Integer, Long, Float,
Double, Character, String, byte[], ArrayList and HashMap, nested at will. ``loads`` reads these and the list and map
classes that Java senders commonly use (``LinkedList``, ``LinkedHashMap``, ``TreeMap``, ``Arrays.asList``, ``List.of``,
object arrays …). Anything else becomes a ``JavaObject``: opaque, comparable, and written back unchanged. Nothing
received is executed.
"""

from typing import Any

from jmsbridge.codecs._serial_common import MAX_DEPTH, JavaObject, JavaSerialError
from jmsbridge.codecs._serial_read import Reader
from jmsbridge.codecs._serial_write import Writer

__all__ = ["MAX_DEPTH", "JavaObject", "JavaSerialError", "dumps", "loads"]


def dumps(value: Any) -> bytes:
    """The serialisation stream of a value; JavaSerialError if it has no Java form."""
    if isinstance(value, JavaObject):
        return value.data
    return Writer().write(value)


def loads(data: bytes | bytearray | memoryview) -> Any:
    """A new value from a stream; JavaSerialError if the bytes are not a stream or are truncated.

    Integer and Double become a plain ``int`` and ``float``, the other numbers keep their typed wrapper. A stream with a
    class outside the subset, a cycle, or deeper than ``MAX_DEPTH`` is one ``JavaObject``.
    """
    return Reader(bytes(data)).read()
