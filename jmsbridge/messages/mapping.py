"""``MapMessage`` (sections 3.11.3 and 3.11.4): named, typed fields."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, final

from jmsbridge.messages import typed
from jmsbridge.messages.base import Message
from jmsbridge.messages.names import check_field_name
from jmsbridge.spi.envelope import BodyKind
from jmsbridge.values import (
    Byte,
    Char,
    FieldValue,
    Float,
    Long,
    Short,
    canonical_field,
    to_boolean,
    to_byte,
    to_bytes,
    to_char,
    to_double,
    to_float,
    to_int,
    to_long,
    to_short,
    to_string,
    wrap,
)

__all__ = ["FieldView", "MapMessage"]


class MapMessage(Message):
    """A message whose body is a set of named values.

    Getters convert by the table of section 3.11.3; an unknown name reads as null: None, False, NumberFormatError
    (integers) or NullValueError (floats and char). Setters raise ValueError for an empty name.
    """

    __slots__ = ("_fields",)
    _kind = BodyKind.MAP
    # Shared with an envelope while the body is read-only, and then never changed.
    _fields: dict[str, Any]

    def __init__(self) -> None:
        Message.__init__(self)
        self._fields = {}

    def _field(self, name: str) -> Any:
        if self._gate is not None:
            self._refuse()
        return self._fields.get(name)

    def _store(self, name: str, value: Any, canonical: Callable[[Any], Any]) -> None:
        if self._gate is not None:
            self._refuse()
        check_field_name(name)
        if self._body_read_only:
            self._refuse_write()
        self._fields[name] = canonical(value)

    @property
    def body(self) -> "FieldView":
        """All fields as a mutable mapping of typed values (``Int``, ``Double`` …); KeyError for absent names."""
        if self._gate is not None:
            self._refuse()
        return FieldView(self)

    @property
    def map_names(self) -> Iterator[str]:
        """The names of the fields."""
        if self._gate is not None:
            self._refuse()
        return iter(list(self._fields))

    def item_exists(self, name: str) -> bool:
        """Whether there is a field of this name, even if it is None."""
        if self._gate is not None:
            self._refuse()
        return name in self._fields

    def get_boolean(self, name: str) -> bool:
        """Read as boolean; False if absent."""
        return to_boolean(self._field(name))

    def get_byte(self, name: str) -> Byte:
        """Read as byte."""
        return to_byte(self._field(name))

    def get_short(self, name: str) -> Short:
        """Read as short."""
        return to_short(self._field(name))

    def get_char(self, name: str) -> Char:
        """Read as char."""
        return to_char(self._field(name))

    def get_int(self, name: str) -> int:
        """Read as int."""
        return to_int(self._field(name))

    def get_long(self, name: str) -> Long:
        """Read as long."""
        return to_long(self._field(name))

    def get_float(self, name: str) -> Float:
        """Read as float."""
        return to_float(self._field(name))

    def get_double(self, name: str) -> float:
        """Read as double."""
        return to_double(self._field(name))

    def get_string(self, name: str) -> str | None:
        """Read as text, in Java's form."""
        return to_string(self._field(name))

    def get_bytes(self, name: str) -> bytes | None:
        """Read as bytes."""
        return to_bytes(self._field(name))

    def get_object(self, name: str) -> FieldValue:
        """The typed value, as it was set."""
        value: FieldValue = wrap(self._field(name))
        return value

    def set_boolean(self, name: str, value: bool) -> None:
        """Set a boolean."""
        self._store(name, value, typed.boolean)

    def set_byte(self, name: str, value: int) -> None:
        """Set a byte."""
        self._store(name, value, typed.byte)

    def set_short(self, name: str, value: int) -> None:
        """Set a short."""
        self._store(name, value, typed.short)

    def set_char(self, name: str, value: str) -> None:
        """Set a char."""
        self._store(name, value, typed.char)

    def set_int(self, name: str, value: int) -> None:
        """Set an int."""
        self._store(name, value, typed.integer)

    def set_long(self, name: str, value: int) -> None:
        """Set a long."""
        self._store(name, value, typed.long)

    def set_float(self, name: str, value: float) -> None:
        """Set a float."""
        self._store(name, value, typed.floating)

    def set_double(self, name: str, value: float) -> None:
        """Set a double."""
        self._store(name, value, typed.double)

    def set_string(self, name: str, value: str | None) -> None:
        """Set a text, or None."""
        self._store(name, value, typed.text)

    def set_bytes(self, name: str, value: typed.Buffer | None, offset: int = 0, length: int | None = None) -> None:
        """Set bytes, or None: a copy of ``length`` bytes from ``offset``; IndexError if ``value`` is shorter."""
        self._store(name, value, lambda data: None if data is None else typed.section(data, offset, length))

    def set_object(self, name: str, value: FieldValue | bytearray | memoryview) -> None:
        """Set a value by its Python type; MessageFormatException for lists, mappings and other types."""
        self._store(name, value, canonical_field)

    def _clear(self) -> None:
        self._fields = {}

    def _load(self, body: Any) -> None:
        self._fields = body

    def _snapshot(self) -> dict[str, Any]:
        return self._fields if self._body_read_only else self._fields.copy()

    def _has_body(self) -> bool:
        return True

    def _assignable(self, kind: type) -> bool:
        return issubclass(dict, kind)

    def _body(self, kind: type) -> Any:
        if not issubclass(dict, kind):
            return Message._body(self, kind)
        return {name: wrap(value) for name, value in self._fields.items()}


@final
class FieldView(MutableMapping[str, FieldValue]):
    """A live view of a map message's fields; writing follows the rules of ``set_object``."""

    __slots__ = ("_message",)

    def __init__(self, message: MapMessage) -> None:
        self._message = message

    def __getitem__(self, name: str) -> FieldValue:
        if not self._message.item_exists(name):
            raise KeyError(name)
        return self._message.get_object(name)

    def __setitem__(self, name: str, value: FieldValue) -> None:
        self._message.set_object(name, value)

    def __delitem__(self, name: str) -> None:
        message = self._message
        if message._gate is not None:
            message._refuse()
        if message._body_read_only:
            message._refuse_write()
        del message._fields[name]

    def __iter__(self) -> Iterator[str]:
        return self._message.map_names

    def __len__(self) -> int:
        return len(list(self._message.map_names))

    def __repr__(self) -> str:
        return f"FieldView({'being sent' if self._message._gate is not None else list(self._message._fields)!r})"
