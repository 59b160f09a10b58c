"""How the suite reaches a broker: subclass ``Harness``, set the URL and implement ``cut``, and every case can run."""

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
    """``LinkEvents`` that record the events of a link, in order."""

    def __init__(self) -> None:
        self.losses: list[BackendError] = []
        self.channels: list[tuple[Channel, BackendError]] = []
        self.subscriptions: list[tuple[Subscription, BackendError]] = []
        self.throttles: list[bool] = []

    def lost(self, error: BackendError) -> None:
        """The link is lost."""
        self.losses.append(error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        """One channel is lost."""
        self.channels.append((channel, error))

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        """The broker ended one subscription."""
        self.subscriptions.append((subscription, error))

    def throttled(self, active: bool) -> None:
        """The broker asks senders to pause or to continue."""
        self.throttles.append(active)


class Harness(Closing, ABC):
    """One broker under test; create one per test and close it at the end (it is a context manager).

    A subclass sets ``url`` and implements ``cut``. ``close`` closes everything that the other methods opened.
    """

    url: str
    """The URL of the broker; its query may have options of the backend and of the facade."""
    emulation: ClassVar[Any] = "default"
    """The option ``emulation`` for ``connect`` and for the plan that ``@requires`` uses."""
    facade_options: ClassVar[dict[str, Any]] = {}
    """Options for every connection of this harness; those of a case take precedence."""
    dead_letters: str = "DLQ"
    """The queue to which the backend moves REJECTED messages if the interest does not name one.

    Its name is not new for each case: give each harness its own queue, by an option of the backend.
    """

    def __init__(self, url: str | None = None) -> None:
        if url is not None:
            self.url = url
        self._opened: list[Callable[[], None]] = []
        self._native: Native | None = None

    @abstractmethod
    def cut(self) -> None:
        """Break every link of this harness as if the network had failed; new links can connect."""

    def freeze(self, direction: Direction | None = None) -> None:
        """Stop all traffic of the open links in this direction, or in both; the case cuts the links next.

        New links are not affected. It lets the suite decide what the broker has received when a link is lost. The
        default does nothing, which is right for backends that answer before a verb returns.
        """

    def aside(self) -> Self | None:
        """Another harness of the same broker, whose ``cut`` does not affect the links of this one; ``close`` closes it.

        None if that is impossible: the case about one lost link while others live is then skipped.
        """
        return None

    def lose_channel(self, channel: Channel) -> bool:
        """Have the broker end this one channel of a link while the link lives.

        False if that is not possible; how the backend handles a channel that is lost alone is then not tested.
        """
        return False

    def stored(self) -> int | None:
        """How many messages the broker stores for this harness, in all places; None if that is not known."""
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
        """Options for a connection that may emulate this feature of the plan, whatever its default."""
        if self.emulation == "allow":
            return {}
        settings = {"default": self.emulation} if isinstance(self.emulation, str) else dict(self.emulation)
        return {"emulation": {**settings, feature: "allow"}}

    def context(self, session_mode: int = 1, **options: Any) -> JMSContext:
        """A JMSContext in this session mode; the default is automatic acknowledgement."""
        import jmsbridge

        context = jmsbridge.context(self.url, session_mode=session_mode, **self._options(options))
        self._opened.append(context.close)
        return context

    def factory(self, **options: Any) -> ConnectionFactory:
        """A ConnectionFactory; close the connections that it creates, or pass them to ``closing``."""
        import jmsbridge

        return jmsbridge.ConnectionFactory(self.url, **self._options(options))

    def closing(self, close: Callable[[], None]) -> None:
        """Call ``close`` when the test ends."""
        self._opened.append(close)

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        merged = {**self.facade_options, **options}
        if self.emulation != "default":
            merged.setdefault("emulation", self.emulation)
        return merged

    # -- names -------------------------------------------------------------------------------------------------------

    def name(self, label: str) -> str:
        """A new name, for subscriptions and client ids."""
        return f"jb-{label}-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"

    def queue(self, label: str = "q") -> Queue:
        """A queue with a new name."""
        from jmsbridge.destinations import Queue

        return Queue(self.name(label))

    def topic(self, label: str = "t") -> Topic:
        """A topic with a new name."""
        from jmsbridge.destinations import Topic

        return Topic(self.name(label))

    def address(self, label: str = "q", *, topic: bool = False) -> Address:
        """The address of a new destination, for the SPI."""
        return (self.topic(label) if topic else self.queue(label)).address

    # -- through the SPI ---------------------------------------------------------------------------------------------

    @property
    def scheme(self) -> str:
        """The URL scheme, which is the backend's name."""
        return self.url.partition(":")[0]

    @property
    def label(self) -> str:
        """The name of this broker in the summary and in skipped cases; by default the scheme."""
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
        """The backend's own options, from the query of ``url``."""
        kind = self.backend.options
        wanted = {field.encode_name for field in msgspec.structs.fields(kind)}
        query = {key: value for key, value in parse_qsl(urlsplit(self.url).query) if key in wanted}
        return msgspec.convert(query, kind, strict=False)

    def open_link(self, events: LinkEvents | None = None, *, client_id: str | None = None) -> Link:
        """A new link, closed at the end; ``events`` gets its events."""
        endpoint = msgspec.structs.replace(self.endpoint, client_id=client_id)
        link = self.backend.open(endpoint, self.options, LinkLog() if events is None else events)
        self._opened.append(link.close)
        return link

    @property
    def native(self) -> Native:
        """The capabilities of a link to this broker, asked once."""
        if self._native is None:
            link = self.backend.open(self.endpoint, self.options, LinkLog())
            self._native = link.native
            link.close()
        return self._native

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close everything that was opened, newest first; all errors are raised together at the end."""
        errors: list[Exception] = []
        while self._opened:
            try:
                self._opened.pop()()
            except Exception as error:  # close the other objects, too; the group below reports each failure
                errors.append(error)
        if errors:
            raise ExceptionGroup("closing what the test opened failed", errors)
