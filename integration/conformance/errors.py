"""Exceptions across the border: of the exact Java class, with reason, error code, cause and linked exception."""

import logging
import traceback
from typing import Any

import jpype

from integration.conformance import texts
from jmsbridge import errors

__all__ = ["Errors"]

log = logging.getLogger("conformance")

_LANG: tuple[tuple[type[BaseException], str], ...] = (
    (errors.NumberFormatError, "NumberFormatException"),
    (errors.NullValueError, "NullPointerException"),
    (errors.UnsupportedOperationError, "UnsupportedOperationException"),
    (IndexError, "IndexOutOfBoundsException"),
    (ValueError, "IllegalArgumentException"),
)
_DEEPEST = 10  # causes of causes


class Errors:
    """The exceptions of one API, ``javax.jms`` or ``jakarta.jms``."""

    def __init__(self, api: str) -> None:
        self._string = jpype.JClass("java.lang.String").class_
        self._runtime = jpype.JClass("java.lang.RuntimeException")
        self._checked = jpype.JClass(f"{api}.JMSException")
        self._unchecked = jpype.JClass(f"{api}.JMSRuntimeException")
        self._java: dict[str, Any] = {}
        for name in errors.__all__:
            try:
                self._java[name] = jpype.JClass(f"{api}.{name}")
            except TypeError:  # a class that only Python has: its base has a Java class
                continue

    def to_java(self, error: BaseException, *, checked: bool = True) -> Any:
        """The Java exception for a Python one; without ``checked`` an unchecked one."""
        if not checked and isinstance(error, errors.JMSException):
            error = errors.unchecked(error)
        made = self._convert(error, 0)
        if not checked and isinstance(made, self._checked):
            return self._with_cause(self._unchecked(made.getMessage(), made.getErrorCode()), made)
        return made

    def to_listener(self, error: BaseException) -> Any:
        """The exception for an exception listener, which accepts only a JMSException."""
        made = self._convert(error, 0)
        if isinstance(made, self._checked):
            return made
        return self._with_cause(self._checked(_said(str(error))), made)

    def to_python(self, error: Any) -> BaseException:
        """The Python exception for one of Java code, such as that of a foreign getter; it keeps the Java exception."""
        if not isinstance(error, self._checked) and not isinstance(error, self._unchecked):
            return error  # type: ignore[no-any-return]
        kind = getattr(errors, str(error.getClass().getSimpleName()), errors.JMSException)
        made: BaseException = kind(texts.to_python(error.getMessage()) or "", texts.to_python(error.getErrorCode()))
        made.java = error  # type: ignore[attr-defined]
        return made

    def _convert(self, error: BaseException, depth: int) -> Any:
        if isinstance(error, jpype.JException):
            return error
        original = getattr(error, "java", None)
        # The unchecked counterpart of an error has the same attributes, but another class.
        if original is not None and isinstance(original, self._checked) == isinstance(error, errors.JMSException):
            return original
        if isinstance(error, errors.JMSError):
            made = self._message_error(error, depth)
        else:
            name = next((name for kind, name in _LANG if isinstance(error, kind)), None)
            if name is None or isinstance(error, UnicodeError):
                return self._not_expected(error) if depth == 0 else self._plain("RuntimeException", repr(error))
            made = self._plain(name, str(error))
        cause = error.__cause__
        if cause is not None and depth < _DEEPEST:
            self._with_cause(made, self._convert(cause, depth + 1))
        return made

    def _message_error(self, error: errors.JMSError, depth: int) -> Any:
        kind = next((self._java[base.__name__] for base in type(error).__mro__ if base.__name__ in self._java), None)
        made = (kind or self._checked)(_said(error.reason), _said(error.error_code))
        linked = error.linked_exception
        if linked is not None and isinstance(made, self._checked) and depth < _DEEPEST:
            made.setLinkedException(self._convert(linked, depth + 1))
        return made

    def _plain(self, name: str, text: str) -> Any:
        # Not by calling the class: some exceptions that JPype creates that way have no message.
        kind = jpype.JClass(f"java.lang.{name}")
        return kind.class_.getConstructor([self._string]).newInstance([jpype.JString(_said(text))])

    def _not_expected(self, error: BaseException) -> Any:
        log.error("unexpected Python error below a Java call", exc_info=error)
        text = "".join(traceback.format_exception(error))
        return self._runtime(_said(f"unexpected Python error: {text}"))

    def _with_cause(self, made: Any, cause: Any) -> Any:
        if made.getCause() is None and not made.equals(cause):
            made.initCause(cause)
        return made


def _said(text: str | None) -> str | None:
    """A text without lone surrogates, because JPype fails on them in exceptions."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
