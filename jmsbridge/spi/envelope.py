"""The data that facade and backends exchange: what is sent, what arrives, what a consumer asks for.

All classes are immutable, cheap to build and safe to share between threads.
"""

from enum import Enum, IntEnum
from typing import Any

import msgspec

__all__ = ["Address", "Arrival", "BodyKind", "Endpoint", "Envelope", "Interest", "Mode", "Outcome"]


class Address(msgspec.Struct, frozen=True, gc=False):
    """A destination as a broker knows it: its name, its kind, and whether it is deleted with its link."""

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
    int), ``Long``, ``Float``, ``float`` (a Java double), ``str``, None; fields also ``Char`` and ``bytes``. A dict or
    list inside an envelope must not be changed. Times are milliseconds since the epoch, 0 means none.
    ``message_id`` is None only if the application disabled message ids.
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
    """One message that a subscription has received.

    ``token`` belongs to the backend and is passed to ``settle``. ``delivery_count`` includes this delivery: 1 the first
    time, at least 2 when ``redelivered``. ``failures`` is how many earlier deliveries failed, as ``settle`` counts
    them; None if the broker does not know: then only failures within one session count.
    """

    token: Any
    envelope: Envelope
    redelivered: bool = False
    delivery_count: int = 1
    failures: int | None = None


class Outcome(Enum):
    """What becomes of a delivered message."""

    ACCEPTED = "accepted"  # consumed: the broker forgets it
    RELEASED = "released"  # not seen by the application: to its old place, not counted; without RELEASE as REQUEUED
    FAILED = "failed"  # processing failed: to its old place, counted as a delivery and as a failure
    REQUEUED = "requeued"  # seen by the application, no failure known: to its old place, counted as a delivery only
    REJECTED = "rejected"  # to the dead-letter queue, if need be by a confirmed copy followed by an acceptance


class Mode(Enum):
    """How a subscription takes messages."""

    CONSUME = "consume"
    BROWSE = "browse"


class Interest(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer or browser wants.

    ``key`` is the name of a durable or shared subscription. Together with ``durable`` and the link's client id (which
    may be absent) it identifies the subscription: a durable and a non-durable one of the same name are different. A
    durable subscription stays shared or unshared, as it was created, until ``unsubscribe``, also while it has no
    consumer; asking for it the other way is ``SubscriptionRefused``.

    Topic, ``selector`` and ``no_local`` define a subscription and are always given, so that the backend can compare or
    remember them. ``selector`` has been checked and is never empty. If ``select``, the broker filters by it; otherwise
    the facade does, and the backend need not. ``no_local`` has an effect only with NO_LOCAL.

    ``window`` is the prefetch for brokers that only count unsettled messages; with 0 the backend chooses a small one.
    ``deferred`` says that settlements come late (client acknowledgement, transactions): the backend must serve credit
    beyond the window. ``presettled`` says that settlements do not come at all: a backend whose broker has no flow
    control without them acknowledges each message when it passes it on, as credit allows, so that nothing beyond the
    credit can be lost.

    ``dead_letters`` names the queue to which REJECTED moves messages of this subscription; None means the backend's
    own dead-letter queue. ``expired`` names the queue for messages that arrive expired, expire while the backend holds
    them, or have expired when they are REJECTED; None means that they are dropped, or rejected like others. Messages
    that the broker itself expires before delivery go where the broker is configured to move them.
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
    """Where and as which user to connect; one element of a failover list. ``str`` and ``repr`` hide the password.

    ``open`` gives up after ``connect_timeout`` seconds; ``close`` of link, channel and subscription wait at most
    ``close_timeout`` seconds for the broker.
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
