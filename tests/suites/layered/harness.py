"""The harness of the embedded broker in memory, also behind layers."""

import copy
import itertools
from typing import Any, Self

import jmsbridge_embedded
from jmsbridge.spi import Admin, Endpoint, Link, LinkEvents, LinkLost, registry
from jmsbridge.testing import Harness
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.proxy import Direction
from tests.suites.layered.slow import SlowBackend

__all__ = ["EmbeddedHarness", "stored_at"]

_numbers = itertools.count(1)

if "embedded" not in registry.names():  # in a checkout that is not installed there is no entry point
    registry.register("embedded", jmsbridge_embedded.backend)


class EmbeddedHarness(Harness):
    """A new memory broker for each test, through the backend that is registered for ``scheme``.

    With ``networked`` the URL names a host, for backends that connect to it if it has a port.
    """

    def __init__(self, scheme: str = "embedded", *, networked: bool = False) -> None:
        self._broker = f"{scheme}-{next(_numbers)}"
        self._alone: list[Link] | None = None
        super().__init__(f"{scheme}:{'//localhost' if networked else ''}?broker={self._broker}")

    def cut(self) -> None:
        """All links of this test's broker are lost, or only those of this harness; its messages stay."""
        if self._alone is None:
            jmsbridge_embedded.cut(self._broker)
            return
        links, self._alone = self._alone, []
        for link in map(_innermost, links):
            with link._state.lock:
                link.end("the link was cut")
            link.tell(LinkLost("the link was cut"))

    def freeze(self, direction: Direction | None = None) -> None:
        """Stop one direction of the slow I/O thread; without one, all calls are answered at once."""
        backend: Any = self.backend
        while not isinstance(backend, SlowBackend):
            if not hasattr(backend, "inner"):
                return
            backend = backend.inner
        backend.freeze(direction)

    def aside(self) -> Self:
        """The same broker; ``cut`` reaches the links that are opened here."""
        other = copy.copy(self)
        Harness.__init__(other)
        other._alone = []
        self.closing(lambda: Harness.close(other))
        return other

    def stored(self) -> int:
        """The number of messages in queues and subscriptions."""
        return stored_at(Endpoint(scheme="embedded"), self.options)

    def open_link(self, events: LinkEvents | None = None, *, client_id: str | None = None) -> Link:
        """A new link, closed at the end."""
        link = super().open_link(events, client_id=client_id)
        if self._alone is not None:
            self._alone.append(link)
        return link

    def close(self) -> None:
        """Close all links, and drop the broker."""
        try:
            super().close()
        finally:
            jmsbridge_embedded.discard(self._broker)


def stored_at(endpoint: Endpoint, options: Any) -> int:
    """How many messages are in the queues and subscriptions of an embedded broker."""
    link = jmsbridge_embedded.backend.open(endpoint, options, LinkLog())
    assert isinstance(link, Admin)
    depths = [info.depth for info in link.list_destinations()]
    link.close()
    return sum(depths)


def _innermost(link: Any) -> Any:
    while hasattr(link, "inner"):
        link = link.inner
    return link
