"""What a backend may raise, and what it may answer a ticket with.

    BackendError
    ├── LinkLost               the link died, or was opened in another process
    │   └── ChannelLost        one channel of it died alone
    ├── ConnectFailed          nobody answered, or the answer was no protocol of ours
    ├── AuthenticationFailed   the broker refused the credentials
    ├── AccessDenied           authenticated, but not allowed to do this
    ├── ClientIdRefused        invalid, or in use by another live link
    ├── AddressRefused         the destination is unknown, deleted or malformed; a send has nowhere to go
    ├── AddressInUse           it has consumers, or belongs to another connection
    ├── SubscriptionRefused    in use, defined otherwise by an active consumer, or shared where unshared is wanted
    ├── SubscriptionUnknown    no durable subscription of that name
    ├── SelectorRefused        the broker does not accept the selector
    ├── SendCancelled          taken back before it was written: the message was never sent
    ├── SendRefused            the broker answered "no": the message is not there
    ├── TransactionRolledBack  the broker ended the transaction by rolling it back
    └── NotSupported           this broker cannot do it

The facade maps each class to one exception of Jakarta Messaging; the text should name the thing, the broker and the
remedy.
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
    "SelectorRefused",
    "SendCancelled",
    "SendRefused",
    "SubscriptionRefused",
    "SubscriptionUnknown",
    "TransactionRolledBack",
]


class BackendError(Exception):
    """Base of all errors that cross the border upwards.

    ``retriable`` says whether the same call on a new link may succeed. ``in_doubt`` is true where the broker may have
    done what was asked although no answer came: the facade then reports the outcome as unknown, never as failed.
    """

    retriable = False

    def __init__(self, text: str, *, in_doubt: bool = False) -> None:
        super().__init__(text)
        self.in_doubt = in_doubt


class LinkLost(BackendError):
    """The link is dead; everything it had not answered is answered with this."""

    retriable = True


class ChannelLost(LinkLost):
    """One channel died while its link lives on: to that channel and its subscriptions the same as a dead link."""


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
    """The destination is unknown, deleted or not a legal name here, or a message sent to it has nowhere to go."""


class AddressInUse(BackendError):
    """The destination has consumers, or is the temporary destination of another connection."""


class SubscriptionRefused(BackendError):
    """The subscription cannot be consumed like this: an active consumer excludes this one or defined it otherwise, or
    it is durable and shared where an unshared one is wanted, or the other way round, whether it has a consumer or not.
    """


class SubscriptionUnknown(BackendError):
    """There is no durable subscription with this key."""


class SelectorRefused(BackendError):
    """The broker does not accept this selector."""


class SendCancelled(BackendError):
    """The send was taken back before anything of it was written: the message is certainly not there."""


class SendRefused(BackendError):
    """The broker refused the message, which is certainly not there."""


class TransactionRolledBack(BackendError):
    """The transaction was rolled back instead of committed."""


class NotSupported(BackendError):
    """The broker cannot do what was asked."""
