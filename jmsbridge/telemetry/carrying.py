"""The trace context in the properties of a message, as OpenTelemetry's Java agent writes and reads it for JMS.

A name of a property is an identifier of Java, so the agent writes ``__dash__`` for each dash in the name of a field.
"""

from collections.abc import Mapping
from typing import Any

from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter, Setter

__all__ = ["context_of", "with_context"]

_DASH = "__dash__"


class _Properties(Getter[Mapping[str, Any]], Setter[dict[str, Any]]):
    def get(self, carrier: Mapping[str, Any], key: str) -> list[str] | None:
        """The value of a field, if there is one and it is text."""
        value = carrier.get(key.replace("-", _DASH))
        return [value] if isinstance(value, str) else None

    def keys(self, carrier: Mapping[str, Any]) -> list[str]:
        """The names of all fields."""
        return [name.replace(_DASH, "-") for name in carrier]

    def set(self, carrier: dict[str, Any], key: str, value: str) -> None:
        """Write a field."""
        carrier[key.replace("-", _DASH)] = value


_properties = _Properties()


def context_of(properties: Mapping[str, Any]) -> Context:
    """The context in which a message was sent; an empty one if it carries none."""
    return propagate.extract(properties, Context(), _properties)


def with_context(properties: dict[str, Any]) -> dict[str, Any]:
    """A copy of the properties with the current context, and nothing of the one with which the message came."""
    current: dict[str, Any] = {}
    propagate.inject(current, setter=_properties)
    if not current:  # there is none: it goes on with the one with which it came
        return dict(properties)
    fields = {name.replace("-", _DASH) for name in propagate.get_global_textmap().fields}
    return {name: value for name, value in properties.items() if name not in fields} | current
