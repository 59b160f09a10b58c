"""``TextMessage`` (section 3.11.1)."""

from typing import Any

from jmsbridge.messages.base import Message
from jmsbridge.messages.typed import text as text_or_none
from jmsbridge.spi.envelope import BodyKind

__all__ = ["TextMessage"]


class TextMessage(Message):
    """A message whose body is a text, or None."""

    __slots__ = ("_text",)
    _kind = BodyKind.TEXT
    _text: str | None

    def __init__(self, text: str | None = None) -> None:
        Message.__init__(self)
        self._text = text if type(text) is str else text_or_none(text)

    @property
    def text(self) -> str | None:
        """The text; MessageNotWriteableException when set on a received message before ``clear_body``."""
        if self._gate is not None:
            self._refuse()
        return self._text

    @text.setter
    def text(self, value: str | None) -> None:
        if self._gate is not None:
            self._refuse()
        if self._body_read_only:
            self._refuse_write()
        self._text = text_or_none(value)

    def _clear(self) -> None:
        self._text = None

    def _load(self, body: Any) -> None:
        self._text = body

    def _snapshot(self) -> str | None:
        return self._text

    def _has_body(self) -> bool:
        return self._text is not None

    def _assignable(self, kind: type) -> bool:
        return issubclass(str, kind)

    def _body(self, kind: type) -> Any:
        return self._text if issubclass(str, kind) else Message._body(self, kind)
