"""All exceptions of jmsbridge.

Jakarta Messaging has two trees with the same meanings: checked exceptions of the classic API and unchecked ones of
the simplified API (section 8.9). Here each meaning is also a class that both trees share, and everything is a
``JMSError``::

    JMSError
    ├── JMSException                        classic API
    │   └── InvalidDestinationException …   also an InvalidDestination
    ├── JMSRuntimeException                 simplified API
    │   └── InvalidDestinationRuntimeException …
    ├── IllegalState, InvalidArgument, InvalidClientID, InvalidDestination, InvalidSelector, JMSSecurity, MessageEOF,
    │   MessageFormat, MessageNotReadable, MessageNotWriteable, ResourceAllocation, TransactionInProgress,
    │   TransactionRolledBack, UnsupportedFeature, InDoubt
    │                                       meanings: ``except InvalidDestination`` catches both
    ├── ConfigurationError                  also a ValueError, as InvalidArgument is
    └── InvalidCall                         also a TypeError

Errors that Java takes from ``java.lang`` are Python's own where one fits (``ValueError`` for IllegalArgument,
``IndexError``) and small subclasses otherwise. All are picklable.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jmsbridge.message import Message

__all__ = [
    "ConfigurationError",
    "DurationWarning",
    "EmulationWarning",
    "IllegalState",
    "IllegalStateException",
    "IllegalStateRuntimeException",
    "InDoubt",
    "InDoubtException",
    "InDoubtRuntimeException",
    "InvalidArgument",
    "InvalidArgumentException",
    "InvalidArgumentRuntimeException",
    "InvalidCall",
    "InvalidClientID",
    "InvalidClientIDException",
    "InvalidClientIDRuntimeException",
    "InvalidDestination",
    "InvalidDestinationException",
    "InvalidDestinationRuntimeException",
    "InvalidSelector",
    "InvalidSelectorException",
    "InvalidSelectorRuntimeException",
    "JMSError",
    "JMSException",
    "JMSRuntimeException",
    "JMSSecurity",
    "JMSSecurityException",
    "JMSSecurityRuntimeException",
    "MessageEOF",
    "MessageEOFException",
    "MessageFormat",
    "MessageFormatException",
    "MessageFormatRuntimeException",
    "MessageNotReadable",
    "MessageNotReadableException",
    "MessageNotWriteable",
    "MessageNotWriteableException",
    "MessageNotWriteableRuntimeException",
    "NullValueError",
    "NumberFormatError",
    "ResourceAllocation",
    "ResourceAllocationException",
    "ResourceAllocationRuntimeException",
    "TransactionInProgress",
    "TransactionInProgressException",
    "TransactionInProgressRuntimeException",
    "TransactionRolledBack",
    "TransactionRolledBackException",
    "TransactionRolledBackRuntimeException",
    "UnsupportedFeature",
    "UnsupportedFeatureException",
    "UnsupportedFeatureRuntimeException",
    "UnsupportedOperationError",
    "unchecked",
]


class JMSError(Exception):
    """Base of all exceptions of jmsbridge.

    ``reason`` is the text, ``error_code`` the provider's code or None. ``linked_exception`` is a second error that
    the provider attached (section 8.9); the Python cause is chained as usual.
    """

    def __init__(self, reason: str = "", error_code: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error_code = error_code
        self.linked_exception: BaseException | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.error_code), self.__dict__


class JMSException(JMSError):
    """Root of the classic API's exceptions."""


class JMSRuntimeException(JMSError, RuntimeError):
    """Root of the simplified API's exceptions."""


class IllegalState(JMSError):
    """The call is not legal now: object closed, wrong mode, wrong domain, wrong thread."""


class InvalidArgument(JMSError, ValueError):
    """A mode, a number or a duration is not valid; the text says what is."""


class InvalidClientID(JMSError):
    """The client id is malformed or in use."""


class InvalidDestination(JMSError):
    """The destination or subscription is missing, unknown or deleted."""


class InvalidSelector(JMSError):
    """The message selector does not follow section 3.8."""


class JMSSecurity(JMSError):
    """The broker refused the credentials or the permission."""


class MessageEOF(JMSError):
    """A bytes or stream message has nothing more to read."""


class MessageFormat(JMSError):
    """A value cannot be converted or sent, or an argument is not a message."""


class MessageNotReadable(JMSError):
    """The body is write-only until ``reset``."""


class MessageNotWriteable(JMSError):
    """The body or the properties are read-only until cleared."""


class ResourceAllocation(JMSError):
    """The broker or this client has reached a limit, such as its memory or a send window."""


class TransactionInProgress(JMSError):
    """An outer transaction forbids the call."""


class TransactionRolledBack(JMSError):
    """``commit`` ended in a rollback; nothing of the transaction happened."""


class UnsupportedFeature(JMSError):
    """This broker, or jmsbridge, does not offer the feature; the text names the setting that allows it, if any."""


class InDoubt(JMSError):
    """The outcome is unknown: the operation may have taken effect, wholly or in part.

    ``sent`` are messages that the broker certainly has, ``refused`` those that it certainly does not have,
    ``unknown`` the rest.
    """

    def __init__(
        self,
        reason: str = "",
        error_code: str | None = None,
        *,
        sent: Sequence["Message"] = (),
        refused: Sequence["Message"] = (),
        unknown: Sequence["Message"] = (),
    ) -> None:
        super().__init__(reason, error_code)
        self.sent: tuple[Message, ...] = tuple(sent)
        self.refused: tuple[Message, ...] = tuple(refused)
        self.unknown: tuple[Message, ...] = tuple(unknown)


class IllegalStateException(IllegalState, JMSException):
    """Classic twin of IllegalState."""


class IllegalStateRuntimeException(IllegalState, JMSRuntimeException):
    """Simplified twin of IllegalState."""


class InvalidArgumentException(InvalidArgument, JMSException):
    """Classic twin of InvalidArgument."""


class InvalidArgumentRuntimeException(InvalidArgument, JMSRuntimeException):
    """Simplified twin of InvalidArgument."""


class InvalidClientIDException(InvalidClientID, JMSException):
    """Classic twin of InvalidClientID."""


class InvalidClientIDRuntimeException(InvalidClientID, JMSRuntimeException):
    """Simplified twin of InvalidClientID."""


class InvalidDestinationException(InvalidDestination, JMSException):
    """Classic twin of InvalidDestination."""


class InvalidDestinationRuntimeException(InvalidDestination, JMSRuntimeException):
    """Simplified twin of InvalidDestination."""


class InvalidSelectorException(InvalidSelector, JMSException):
    """Classic twin of InvalidSelector."""


class InvalidSelectorRuntimeException(InvalidSelector, JMSRuntimeException):
    """Simplified twin of InvalidSelector."""


class JMSSecurityException(JMSSecurity, JMSException):
    """Classic twin of JMSSecurity."""


class JMSSecurityRuntimeException(JMSSecurity, JMSRuntimeException):
    """Simplified twin of JMSSecurity."""


class MessageEOFException(MessageEOF, JMSException):
    """End of a bytes or stream message; messages are classic API even in a JMSContext."""


class MessageFormatException(MessageFormat, JMSException):
    """Classic twin of MessageFormat."""


class MessageFormatRuntimeException(MessageFormat, JMSRuntimeException):
    """Simplified twin of MessageFormat."""


class MessageNotReadableException(MessageNotReadable, JMSException):
    """A write-only body was read; messages are classic API even in a JMSContext."""


class MessageNotWriteableException(MessageNotWriteable, JMSException):
    """Classic twin of MessageNotWriteable."""


class MessageNotWriteableRuntimeException(MessageNotWriteable, JMSRuntimeException):
    """Simplified twin of MessageNotWriteable."""


class ResourceAllocationException(ResourceAllocation, JMSException):
    """Classic twin of ResourceAllocation."""


class ResourceAllocationRuntimeException(ResourceAllocation, JMSRuntimeException):
    """Simplified twin of ResourceAllocation."""


class TransactionInProgressException(TransactionInProgress, JMSException):
    """Classic twin of TransactionInProgress."""


class TransactionInProgressRuntimeException(TransactionInProgress, JMSRuntimeException):
    """Simplified twin of TransactionInProgress."""


class TransactionRolledBackException(TransactionRolledBack, JMSException):
    """Classic twin of TransactionRolledBack."""


class TransactionRolledBackRuntimeException(TransactionRolledBack, JMSRuntimeException):
    """Simplified twin of TransactionRolledBack."""


class UnsupportedFeatureException(UnsupportedFeature, JMSException):
    """Classic twin of UnsupportedFeature."""


class UnsupportedFeatureRuntimeException(UnsupportedFeature, JMSRuntimeException):
    """Simplified twin of UnsupportedFeature."""


class InDoubtException(InDoubt, JMSException):
    """Classic twin of InDoubt."""


class InDoubtRuntimeException(InDoubt, JMSRuntimeException):
    """Simplified twin of InDoubt."""


class ConfigurationError(JMSError, ValueError):
    """A target, option or profile is wrong; the text gives the nearest valid name."""


class InvalidCall(JMSError, TypeError):
    """This form of the call is not supported, such as one of Java's; the text says what to write."""


class NumberFormatError(ValueError):
    """A string does not parse as the number asked for (Java's NumberFormatException)."""


class NullValueError(TypeError):
    """A value is missing where Java raises NullPointerException."""


class UnsupportedOperationError(NotImplementedError):
    """The form of the call does not fit the object (Java's UnsupportedOperationException)."""


class EmulationWarning(UserWarning):
    """The client emulates a feature that the broker lacks; the text names the price."""


class DurationWarning(UserWarning):
    """A duration is a multiple of 1000: the unit is seconds here, but milliseconds in Java."""


_TWINS: dict[type[JMSException], type[JMSRuntimeException]] = {JMSException: JMSRuntimeException} | {
    classic: simplified
    for classic in JMSException.__subclasses__()
    for simplified in JMSRuntimeException.__subclasses__()
    if classic.__bases__[0] is simplified.__bases__[0]  # the same meaning
}


def unchecked(error: JMSException) -> JMSRuntimeException:
    """The simplified API's twin of a classic exception, with everything it carries and the original as its cause."""
    kind = next(_TWINS[base] for base in type(error).__mro__ if base in _TWINS)
    twin = kind(error.reason, error.error_code)
    twin.__dict__.update(error.__dict__)
    twin.__cause__ = error
    return twin
