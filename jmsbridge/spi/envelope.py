"""The data that crosses the border: what is sent, what arrives, what is asked for.

All are immutable and cheap to build; whoever holds one may share it between threads.
"""

from enum import Enum, IntEnum
from typing import Any

import msgspec

__all__ = ["Address", "Arrival", "BodyKind", "Endpoint", "Envelope", "Interest", "Mode", "Outcome"]


class Address(msgspec.Struct, frozen=True, gc=False):
    """A destination as a broker knows it: its name, its kind, and whether it dies with a link."""

    name: str
    topic: bool = False
    temporary: bool = False

    def __str__(self) -> str:
        kind = "topic" if self.topic else "queue"
        return f"{'temp-' if self.temporary else ''}{kind}:{self.name}"


class BodyKind(IntEnum):
    """The six message kinds, and the canonical form of ``Envelope.body`` for each."""

    NONE = 0  # a plain Message: None
    TEXT = 1  # str, or None for a TextMessage without text
    BYTES = 2  # bytes
    MAP = 3  # dict[str, field value]
    STREAM = 4  # list of field values
    OBJECT = 5  # bytes of a Java serialisation stream, or None


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """One message, complete and independent of every JMS object.

    Values of ``properties`` and of map and stream fields are canonical: ``bool``, ``Byte``, ``Short``, ``int`` (a Java
    int), ``Long``, ``Float``, ``float`` (a Java double), ``str``, None; fields also ``Char`` and ``bytes``. Nobody
    changes a dict or list inside an envelope. Times are milliseconds since the epoch, 0 means none.
    ``message_id`` is None only where the application disabled ids.
    """

    address: Address
    kind: BodyKind
    body: Any
    properties: dict[str, Any]
    message_id: str | None
    timestamp: int
    persistent: bool = True
    priority: int = 4
    expiration: int = 0
    delivery_time: int = 0
    correlation_id: str | bytes | None = None
    reply_to: Address | None = None
    jms_type: str | None = None
    duplicate_id: str | None = None


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One message on its way in.

    ``token`` is the backend's own and comes back in ``settle``. ``delivery_count`` counts this delivery: 1 the first
    time, at least 2 when ``redelivered``. ``failures`` tells how many of those before
    failed, as ``settle`` counts them; None where that is not known: then only what fails in one session counts.
    """

    token: Any
    envelope: Envelope
    redelivered: bool = False
    delivery_count: int = 1
    failures: int | None = None


class Outcome(Enum):
    """What becomes of a delivered message."""

    ACCEPTED = "accepted"  # done, gone
    RELEASED = "released"  # never seen by the application: back to its place, no count; as REQUEUED without RELEASE
    FAILED = "failed"  # seen, not processed: back to its place, delivery count raised
    REQUEUED = "requeued"  # seen, and nobody said that it failed: the same, but one delivery more than failures
    REJECTED = "rejected"  # give up: to the dead-letter queue, by a confirmed copy and an acceptance if need be


class Mode(Enum):
    """How a subscription takes messages."""

    CONSUME = "consume"
    BROWSE = "browse"


class Interest(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer or browser wants.

    ``key`` is the name of a subscription that is durable or shared. With ``durable`` and the link's client id, which
    may be none, it is the subscription's identity: a durable and a non-durable one of the same name are two. A durable
    one stays shared or unshared as it was made until ``unsubscribe``, also while nobody consumes it; asked for the
    other way it is ``SubscriptionRefused``.

    Topic, ``selector`` and ``no_local`` are a subscription's definition, which the backend compares or remembers, and
    are always handed over. ``selector`` has been checked and is never empty. ``select`` says that the broker is to
    filter by it; otherwise the facade does, and the backend need not. ``no_local`` has an effect only with NO_LOCAL.

    ``window`` is the prefetch for brokers that only count unsettled messages; 0 leaves it to the backend, which takes
    a small one. ``deferred`` says that settlements come late (client acknowledgement, transactions): credit beyond
    the window is served nevertheless. ``presettled`` says that none will come at all: a backend whose broker has no
    flow control for that acknowledges at hand-over, as credit allows, so that nothing beyond the credit can be lost.

    ``dead_letters`` names the queue to which REJECTED moves messages of this subscription; None means the backend's
    own dead-letter queue. ``expired`` names the queue to which a message goes that arrives expired, expires while
    the backend holds it, or has expired when it is REJECTED; None means that it is dropped, or rejected as others are.
    What the broker itself takes away before it is delivered goes where the broker says.
    """

    address: Address
    mode: Mode = Mode.CONSUME
    key: str | None = None
    durable: bool = False
    shared: bool = False
    selector: str | None = None
    select: bool = True
    no_local: bool = False
    window: int = 250
    deferred: bool = False
    presettled: bool = False
    dead_letters: str | None = None
    expired: str | None = None


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where and as whom to connect; one element of a failover list. Its text never shows the password.

    ``open`` gives up after ``connect_timeout`` seconds; the ``close`` of link, channel and subscription wait no longer
    than ``close_timeout`` seconds for the broker.
    """

    scheme: str
    host: str | None = None
    port: int | None = None
    path: str = ""
    user: str | None = None
    password: str | None = None
    client_id: str | None = None
    connect_timeout: float = 15.0
    close_timeout: float = 30.0

    def __str__(self) -> str:
        if self.host is None:
            return f"{self.scheme}:{self.path}"
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{user}{self.host}{port}{self.path}"

    def __repr__(self) -> str:
        return f"Endpoint({self})"
