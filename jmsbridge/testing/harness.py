"""How the suite reaches one broker: subclass, say the URL and how its links are cut, and every case can run."""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from jmsbridge.closing import Closing
from jmsbridge.spi import registry
from jmsbridge.spi.backend import Backend, Channel, Link, LinkEvents, Subscription
from jmsbridge.spi.envelope import Address, Endpoint
from jmsbridge.spi.errors import BackendError
from jmsbridge.spi.native import Native

if TYPE_CHECKING:
    from jmsbridge import Connection, ConnectionFactory, JMSContext, Queue, Topic
    from jmsbridge.testing.proxy.relay import Direction

__all__ = ["Harness", "LinkLog"]

_numbers = itertools.count(1)


class LinkLog:
    """``LinkEvents`` that only remember what a link said, in order."""

    def __init__(self) -> None:
        self.losses: list[BackendError] = []
        self.channels: list[tuple[Channel, BackendError]] = []
        self.subscriptions: list[tuple[Subscription, BackendError]] = []
        self.throttles: list[bool] = []

    def lost(self, error: BackendError) -> None:
        """The link died."""
        self.losses.append(error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        """One channel died alone."""
        self.channels.append((channel, error))

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        """One subscription was ended by the broker."""
        self.subscriptions.append((subscription, error))

    def throttled(self, active: bool) -> None:
        """The broker asked to pause or to go on."""
        self.throttles.append(active)


class Harness(Closing, ABC):
    """One broker under test; make a fresh one per test and close it at the end (it is a context manager).

    A subclass sets ``url`` and implements ``cut``. Everything that the other methods opened is closed by ``close``.
    """

    url: str
    """Where the broker is; an option of the backend or of the facade may stand in its query."""
    emulation: ClassVar[Any] = "default"
    """What ``connect`` passes on, and the plan that ``@requires`` reads."""
    facade_options: ClassVar[dict[str, Any]] = {}
    """Options that every connection of this harness gets, below those that a case asks for."""
    dead_letters: str = "DLQ"
    """The queue to which the backend moves what is REJECTED when the interest names none.

    It is not among the names that are new for each case: give each harness one of its own, by an option of the backend.
    """

    def __init__(self, url: str | None = None) -> None:
        if url is not None:
            self.url = url
        self._opened: list[Callable[[], None]] = []
        self._native: Native | None = None

    @abstractmethod
    def cut(self) -> None:
        """Let every link of this harness die as if the network had failed, and let new ones connect."""

    def freeze(self, direction: Direction | None = None) -> None:
        """Nothing passes any more in this direction, or in both, on the links that are open; a case cuts them next.

        New links are not concerned. With it the suite knows what the broker can have heard when a link dies. A harness
        that does nothing here, as by default, is right where answers are there before a verb returns.
        """

    def aside(self) -> Self | None:
        """Another harness of the same broker, whose ``cut`` spares the links of this one; ``close`` closes it too.

        None where that cannot be had: what becomes of the messages of one dead link while others live is not tested
        then.
        """
        return None

    def lose_channel(self, channel: Channel) -> bool:
        """Have the broker end this one channel of a link while the link lives.

        False where that cannot be had: what becomes of a channel that dies alone is not tested then.
        """
        return False

    def stored(self) -> int | None:
        """How many messages the broker stores for this harness, wherever they are; None where that is not known."""
        return None

    # -- through the facade ------------------------------------------------------------------------------------------

    def connect(self, *, start: bool = True, **options: Any) -> Connection:
        """A connection with these facade options, started unless ``start`` is false."""
        import jmsbridge

        connection = jmsbridge.connect(self.url, **self._options(options))
        self._opened.append(connection.close)
        if start:
            connection.start()
        return connection

    def allowing(self, feature: str) -> dict[str, Any]:
        """Options for a connection that may emulate this feature of the plan, whatever the default is."""
        if self.emulation == "allow":
            return {}
        settings = {"default": self.emulation} if isinstance(self.emulation, str) else dict(self.emulation)
        return {"emulation": {**settings, feature: "allow"}}

    def context(self, session_mode: int = 1, **options: Any) -> JMSContext:
        """A JMSContext in this session mode (automatic acknowledgement unless said)."""
        import jmsbridge

        context = jmsbridge.context(self.url, session_mode=session_mode, **self._options(options))
        self._opened.append(context.close)
        return context

    def factory(self, **options: Any) -> ConnectionFactory:
        """A ConnectionFactory; close what it makes, or hand it to ``closing``."""
        import jmsbridge

        return jmsbridge.ConnectionFactory(self.url, **self._options(options))

    def closing(self, close: Callable[[], None]) -> None:
        """Call ``close`` when the test is over."""
        self._opened.append(close)

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        merged = {**self.facade_options, **options}
        if self.emulation != "default":
            merged.setdefault("emulation", self.emulation)
        return merged

    # -- names -------------------------------------------------------------------------------------------------------

    def name(self, label: str) -> str:
        """A name that nobody used before, for subscriptions and client ids."""
        return f"jb-{label}-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"

    def queue(self, label: str = "q") -> Queue:
        """A queue that nobody used before."""
        from jmsbridge.destinations import Queue

        return Queue(self.name(label))

    def topic(self, label: str = "t") -> Topic:
        """A topic that nobody used before."""
        from jmsbridge.destinations import Topic

        return Topic(self.name(label))

    def address(self, label: str = "q", *, topic: bool = False) -> Address:
        """A fresh destination as the SPI sees it."""
        return (self.topic(label) if topic else self.queue(label)).address

    # -- through the SPI ---------------------------------------------------------------------------------------------

    @property
    def scheme(self) -> str:
        """The URL scheme, which is the backend's name."""
        return self.url.partition(":")[0]

    @property
    def label(self) -> str:
        """What the summary and skipped cases call this broker: the scheme, unless a subclass says more."""
        return self.scheme

    @property
    def backend(self) -> Backend:
        """The backend under test."""
        return registry.load(self.scheme)

    @property
    def endpoint(self) -> Endpoint:
        """The address part of ``url``."""
        parts = urlsplit(self.url)
        return Endpoint(
            scheme=self.scheme,
            host=parts.hostname,
            port=parts.port,
            path=unquote(parts.path),
            user=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
        )

    @property
    def options(self) -> Any:
        """The backend's own options, as far as the query of ``url`` sets them."""
        kind = self.backend.options
        wanted = {field.encode_name for field in msgspec.structs.fields(kind)}
        query = {key: value for key, value in parse_qsl(urlsplit(self.url).query) if key in wanted}
        return msgspec.convert(query, kind, strict=False)

    def open_link(self, events: LinkEvents | None = None, *, client_id: str | None = None) -> Link:
        """A link of its own, closed at the end; ``events`` hears what it says."""
        endpoint = msgspec.structs.replace(self.endpoint, client_id=client_id)
        link = self.backend.open(endpoint, self.options, LinkLog() if events is None else events)
        self._opened.append(link.close)
        return link

    @property
    def native(self) -> Native:
        """What a link to this broker offers, asked once."""
        if self._native is None:
            link = self.backend.open(self.endpoint, self.options, LinkLog())
            self._native = link.native
            link.close()
        return self._native

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close all that was opened, newest first; errors come together at the end."""
        errors: list[Exception] = []
        while self._opened:
            try:
                self._opened.pop()()
            except Exception as error:  # every object gets its chance; the group below reports each failure
                errors.append(error)
        if errors:
            raise ExceptionGroup("closing what the test opened failed", errors)
