"""The errors that a backend may raise or answer a ticket with.

    BackendError
    ├── LinkLost               the link is lost, or was opened in another process
    │   └── ChannelLost        one channel is lost, the link lives on
    ├── ConnectFailed          no answer, or an answer in another protocol
    ├── AuthenticationFailed   the broker refused the credentials
    ├── AccessDenied           authenticated, but not allowed to do this
    ├── ClientIdRefused        invalid, or in use by another live link
    ├── AddressRefused         the destination is unknown, deleted or malformed
    ├── AddressInUse           it has consumers, or belongs to another connection
    ├── SubscriptionRefused    in use, defined otherwise by an active consumer, or shared where unshared is wanted
    ├── SubscriptionUnknown    there is no durable subscription of that name
    ├── SelectorRefused        the broker does not accept the selector
    ├── PositionLost           messages that were asked for by position are gone, or may be
    ├── SendCancelled          cancelled before it was written: the message was never sent
    ├── SendRefused            the broker did not accept the message
    ├── TransactionRolledBack  the broker ended the transaction by rolling it back
    └── NotSupported           this broker cannot do it

The facade maps each class to one exception of Jakarta Messaging. The text should name the object concerned, the broker
and the remedy.
"""

__all__ = [
    "AccessDenied",
    "AddressInUse",
    "AddressRefused",
    "AuthenticationFailed",
    "BackendError",
    "ChannelLost",
    "ClientIdRefused",
    "ConnectFailed",
    "LinkLost",
    "NotSupported",
    "PositionLost",
    "SelectorRefused",
    "SendCancelled",
    "SendRefused",
    "SubscriptionRefused",
    "SubscriptionUnknown",
    "TransactionRolledBack",
]


class BackendError(Exception):
    """Base of all errors that a backend reports to the facade.

    ``retriable`` says whether the same call on a new link may succeed. ``in_doubt`` is true if the broker may have done
    what was asked although no answer came: the facade then reports the outcome as unknown, never as failed.
    """

    retriable = False

    def __init__(self, text: str, *, in_doubt: bool = False) -> None:
        super().__init__(text)
        self.in_doubt = in_doubt


class LinkLost(BackendError):
    """The link is lost; every open ticket is answered with this."""

    retriable = True


class ChannelLost(LinkLost):
    """One channel is lost while its link lives on; for that channel and its subscriptions the same as a lost link."""


class ConnectFailed(BackendError):
    """No usable link could be made to this endpoint."""

    retriable = True


class AuthenticationFailed(BackendError):
    """The broker refused user name, password or certificate."""


class AccessDenied(BackendError):
    """The authenticated user may not do this."""


class ClientIdRefused(BackendError):
    """The client id is invalid or in use by another live link."""


class AddressRefused(BackendError):
    """The destination is unknown, deleted, or its name is not valid on this broker."""


class AddressInUse(BackendError):
    """The destination has consumers, or is the temporary destination of another connection."""


class SubscriptionRefused(BackendError):
    """The subscription cannot get this consumer.

    An active consumer excludes this one or defined the subscription differently; or the durable subscription is shared
    where an unshared one is wanted, or the other way round, whether it has a consumer or not.
    """


class SubscriptionUnknown(BackendError):
    """There is no durable subscription with this key."""


class SelectorRefused(BackendError):
    """The broker does not accept this selector."""


class PositionLost(BackendError):
    """The broker has removed messages that were asked for by position, or may have."""


class SendCancelled(BackendError):
    """The send was cancelled before anything of it was written: the broker certainly does not have the message."""


class SendRefused(BackendError):
    """The broker refused the message and certainly does not have it."""


class TransactionRolledBack(BackendError):
    """The transaction was rolled back instead of committed."""


class NotSupported(BackendError):
    """The broker cannot do what was asked."""
