"""The properties of a message (section 3.5): typed accessors, and a mapping over the same values."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NoReturn, final

from jmsbridge.errors import MessageNotWriteableException
from jmsbridge.messages import typed
from jmsbridge.messages.headers import Headers
from jmsbridge.messages.names import ADMITTED, DELIVERY_COUNT, admit
from jmsbridge.values import (
    Byte,
    Float,
    Long,
    PropertyValue,
    Short,
    canonical_property,
    to_boolean,
    to_byte,
    to_double,
    to_float,
    to_int,
    to_long,
    to_short,
    to_string,
    wrap,
)

__all__ = ["Properties", "PropertyView"]


class Properties(Headers):
    """The properties; a base of every message.

    Getters convert by the table of section 3.5.4 and raise MessageFormatException if it defines no conversion. An
    absent property reads as null: None, False, NumberFormatError (integers) or NullValueError (floats). Setters raise
    ValueError for a bad name and MessageNotWriteableException on a received message until ``clear_properties``.
    """

    __slots__ = ()

    def _refuse_property(self) -> NoReturn:
        raise MessageNotWriteableException(
            "the properties of a received message are read-only until clear_properties()"
        )

    def _put(self, name: str, value: Any, canonical: Callable[[Any], Any]) -> None:
        if self._gate is not None:
            self._refuse()
        if self._properties_read_only:
            self._refuse_property()
        if name not in ADMITTED:
            canonical = admit(name, canonical)
        self._properties[name] = canonical(value)

    def _value(self, name: str) -> Any:
        if self._gate is not None:
            self._refuse()
        value = self._properties.get(name)
        # The count of a received message is not stored: it differs from delivery to delivery of the same envelope.
        if value is None and name == DELIVERY_COUNT and self._delivery_count:
            return self._delivery_count
        return value

    @property
    def properties(self) -> "PropertyView":
        """All properties as a mutable mapping of typed values (``Int``, ``Double`` …); KeyError for absent names."""
        if self._gate is not None:
            self._refuse()
        return PropertyView(self)

    @property
    def property_names(self) -> Iterator[str]:
        """The names, in no particular order, without headers; a received message also has JMSXDeliveryCount."""
        if self._gate is not None:
            self._refuse()
        names = list(self._properties)
        if self._delivery_count and DELIVERY_COUNT not in self._properties:
            names.append(DELIVERY_COUNT)
        return iter(names)

    def property_exists(self, name: str) -> bool:
        """Whether there is a property of this name, even if it is None."""
        if self._gate is not None:
            self._refuse()
        return name in self._properties or (name == DELIVERY_COUNT and self._delivery_count > 0)

    def clear_properties(self) -> None:
        """Remove all properties, the delivery count included, and make them writable; the body is unchanged."""
        if self._gate is not None:
            self._refuse()
        self._properties = {}
        self._properties_read_only = False
        self._delivery_count = 0

    def get_boolean_property(self, name: str) -> bool:
        """Read as boolean; False if absent."""
        return to_boolean(self._value(name))

    def get_byte_property(self, name: str) -> Byte:
        """Read as byte."""
        return to_byte(self._value(name))

    def get_short_property(self, name: str) -> Short:
        """Read as short."""
        return to_short(self._value(name))

    def get_int_property(self, name: str) -> int:
        """Read as int."""
        value = self._properties.get(name)
        if type(value) is int and self._gate is None:  # without a call for the most common case, as in the next ones
            return value
        return to_int(self._value(name))

    def get_long_property(self, name: str) -> Long:
        """Read as long."""
        return to_long(self._value(name))

    def get_float_property(self, name: str) -> Float:
        """Read as float."""
        return to_float(self._value(name))

    def get_double_property(self, name: str) -> float:
        """Read as double."""
        return to_double(self._value(name))

    def get_string_property(self, name: str) -> str | None:
        """Read as text, in Java's form; None if absent."""
        value = self._properties.get(name)
        if type(value) is str and self._gate is None:
            return value
        return to_string(self._value(name))

    def get_object_property(self, name: str) -> PropertyValue:
        """The typed value, as it was set; None if absent."""
        value: PropertyValue = wrap(self._value(name))
        return value

    def set_boolean_property(self, name: str, value: bool) -> None:
        """Set a boolean."""
        self._put(name, value, typed.boolean)

    def set_byte_property(self, name: str, value: int) -> None:
        """Set a byte."""
        self._put(name, value, typed.byte)

    def set_short_property(self, name: str, value: int) -> None:
        """Set a short."""
        self._put(name, value, typed.short)

    def set_int_property(self, name: str, value: int) -> None:
        """Set an int."""
        self._put(name, value, typed.integer)

    def set_long_property(self, name: str, value: int) -> None:
        """Set a long."""
        self._put(name, value, typed.long)

    def set_float_property(self, name: str, value: float) -> None:
        """Set a float."""
        self._put(name, value, typed.floating)

    def set_double_property(self, name: str, value: float) -> None:
        """Set a double."""
        self._put(name, value, typed.double)

    def set_string_property(self, name: str, value: str | None) -> None:
        """Set a text, or None."""
        if type(value) is str and name in ADMITTED and self._gate is None and not self._properties_read_only:
            self._properties[name] = value  # without a call for the most common case
        else:
            self._put(name, value, typed.text)

    def set_object_property(self, name: str, value: PropertyValue) -> None:
        """Set a value by its Python type: bool, int, float, str, a typed wrapper, or None."""
        self._put(name, value, canonical_property)


@final
class PropertyView(MutableMapping[str, PropertyValue]):
    """A live view of a message's properties; writing follows the rules of ``set_object_property``."""

    __slots__ = ("_message",)

    def __init__(self, message: Properties) -> None:
        self._message = message

    def __getitem__(self, name: str) -> PropertyValue:
        if not self._message.property_exists(name):
            raise KeyError(name)
        return self._message.get_object_property(name)

    def __setitem__(self, name: str, value: PropertyValue) -> None:
        self._message.set_object_property(name, value)

    def __delitem__(self, name: str) -> None:
        message = self._message
        if message._gate is not None:
            message._refuse()
        if message._properties_read_only:
            message._refuse_property()
        del message._properties[name]

    def __iter__(self) -> Iterator[str]:
        return self._message.property_names

    def __len__(self) -> int:
        return len(list(self._message.property_names))

    def __repr__(self) -> str:
        return f"PropertyView({'being sent' if self._message._gate is not None else dict(self)!r})"
