"""Translates the errors of backends into the exceptions of Jakarta Messaging."""

from collections.abc import Sequence
from typing import Any, Final

from jmsbridge import errors, spi
from jmsbridge.core.runtime.waiting import AnswerMissing

__all__ = ["raise_first", "translate", "translated", "translated_reading"]

_CLASSES: dict[type[spi.BackendError], type[errors.JMSException]] = {
    spi.AccessDenied: errors.JMSSecurityException,
    spi.AddressInUse: errors.IllegalStateException,
    spi.AddressRefused: errors.InvalidDestinationException,
    spi.AuthenticationFailed: errors.JMSSecurityException,
    spi.ClientIdRefused: errors.InvalidClientIDException,
    spi.NotSupported: errors.UnsupportedFeatureException,
    spi.SelectorRefused: errors.InvalidSelectorException,
    spi.SendCancelled: errors.ResourceAllocationException,
    spi.SendRefused: errors.ResourceAllocationException,
    spi.SubscriptionRefused: errors.IllegalStateException,
    spi.SubscriptionUnknown: errors.InvalidDestinationException,
    spi.TransactionRolledBack: errors.TransactionRolledBackException,
}


def translate(
    error: spi.BackendError, unknown: Sequence[Any] = (), *, changes_nothing: bool = False
) -> errors.JMSException:
    """The JMS exception for a backend's error, with that error as its cause.

    If the broker may have acted although it did not answer, this is an InDoubt with the ``unknown`` messages, unless
    what was asked ``changes_nothing``.
    """
    made: errors.JMSException
    code = "TIMEOUT" if isinstance(error, AnswerMissing) else type(error).__name__
    if error.in_doubt and not changes_nothing:
        made = errors.InDoubtException(str(error), code, unknown=unknown)
    else:
        made = _CLASSES.get(type(error), errors.JMSException)(str(error), code)
    made.__cause__ = error
    return made


class _Translated:
    def __init__(self, *, changes_nothing: bool = False) -> None:
        self._changes_nothing = changes_nothing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, spi.BackendError):
            raise translate(error, changes_nothing=self._changes_nothing) from error


translated: Final = _Translated()
"""``with translated:`` raises a backend's error in the block as the JMS exception for it."""
translated_reading: Final = _Translated(changes_nothing=True)
"""The same for what changes nothing at the broker, so that no outcome of it is in doubt."""


def raise_first(problems: list[BaseException]) -> None:
    """Raise the error of a close, if any: an interrupt if there is one, else the first error."""
    if problems:
        first = min(problems, key=lambda error: isinstance(error, Exception))
        raise translate(first) if isinstance(first, spi.BackendError) else first
