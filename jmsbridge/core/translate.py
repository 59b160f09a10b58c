"""Translates the errors of backends into the exceptions of Jakarta Messaging."""

from collections.abc import Sequence
from typing import Any

from jmsbridge.core.runtime.waiting import AnswerMissing
from jmsbridge.errors import (
    IllegalStateException,
    InDoubtException,
    InvalidClientIDException,
    InvalidDestinationException,
    InvalidSelectorException,
    JMSException,
    JMSSecurityException,
    ResourceAllocationException,
    TransactionRolledBackException,
    UnsupportedFeatureException,
)
from jmsbridge.spi import (
    AccessDenied,
    AddressInUse,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    NotSupported,
    SelectorRefused,
    SendCancelled,
    SendRefused,
    SubscriptionRefused,
    SubscriptionUnknown,
    TransactionRolledBack,
)

__all__ = ["raise_first", "translate"]

_CLASSES: dict[type[BackendError], type[JMSException]] = {
    AccessDenied: JMSSecurityException,
    AddressInUse: IllegalStateException,
    AddressRefused: InvalidDestinationException,
    AuthenticationFailed: JMSSecurityException,
    ClientIdRefused: InvalidClientIDException,
    NotSupported: UnsupportedFeatureException,
    SelectorRefused: InvalidSelectorException,
    SendCancelled: ResourceAllocationException,
    SendRefused: ResourceAllocationException,
    SubscriptionRefused: IllegalStateException,
    SubscriptionUnknown: InvalidDestinationException,
    TransactionRolledBack: TransactionRolledBackException,
}


def translate(error: BackendError, unknown: Sequence[Any] = ()) -> JMSException:
    """The JMS exception for a backend's error, with that error as its cause.

    If the broker may have acted although it did not answer, this is an InDoubt with the ``unknown`` messages.
    """
    made: JMSException
    code = type(error).__name__
    if error.in_doubt:
        made = InDoubtException(str(error), "TIMEOUT" if isinstance(error, AnswerMissing) else code, unknown=unknown)
    else:
        made = _CLASSES.get(type(error), JMSException)(str(error), code)
    made.__cause__ = error
    return made


def raise_first(errors: list[BaseException]) -> None:
    """Raise the error of a close, if any: an interrupt if there is one, else the first error."""

    if errors:
        first = min(errors, key=lambda error: isinstance(error, Exception))
        raise translate(first) if isinstance(first, BackendError) else first
