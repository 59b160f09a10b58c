"""The backend: opens links as the script allows, and stores messages like a broker."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from jmsbridge.spi import registry
from jmsbridge.spi.backend import Link, LinkEvents
from jmsbridge.spi.envelope import Endpoint, Envelope, Outcome
from jmsbridge.spi.errors import BackendError, ConnectFailed
from jmsbridge.spi.native import Native
from jmsbridge.testing.scripted.auto import AutoLink
from jmsbridge.testing.scripted.link import ScriptedLink, ScriptedSubscription
from jmsbridge.testing.scripted.script import Call, Question, Script

__all__ = ["FULL", "ScriptedBackend", "ScriptedOptions"]

FULL = ~Native.NONE
"""All capabilities."""


class ScriptedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script needs no options."""


class ScriptedBackend:
    """A backend whose broker is simulated by a test."""

    spi_version = 1
    options: type[msgspec.Struct] = ScriptedOptions

    def __init__(
        self,
        *,
        name: str = "scripted",
        native: Native = FULL,
        auto: bool = False,
        template: Envelope | None = None,
    ) -> None:
        self.name = name
        self.native = native
        self.auto = auto
        self.template = template
        self.script = Script()
        self.links: list[ScriptedLink] = []
        self.accepted: list[Envelope] = []
        """The messages that the broker has accepted, in that order."""
        self.settled: list[tuple[Any, Outcome]] = []
        """Tokens with their outcomes, in the order in which these took effect."""
        self._refusals = 0
        self._refusal: BackendError | None = None

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A new link, unless the script refuses."""
        if self.auto:
            return AutoLink(self.native, self.template)
        number = len(self.links) + 1
        self.script.record(Call(number, "open", endpoint))
        if self._refusals > 0:
            self._refusals -= 1
            raise self._refusal or ConnectFailed(f"{endpoint} refused the connection, as the script says")
        link = ScriptedLink(self, number, endpoint, events)
        self.links.append(link)
        return link

    # -- the script --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def installed(self) -> Iterator["ScriptedBackend"]:
        """Register as the backend of the scheme ``name`` inside a with statement."""
        registry.register(self.name, self)
        try:
            yield self
        finally:
            registry.unregister(self.name)
            self.script.stop()

    def refuse(self, times: int, error: BackendError | None = None) -> None:
        """Refuse the next ``times`` connections."""
        self._refusals, self._refusal = times, error

    def lower(self, features: Native) -> None:
        """Remove these capabilities from later links."""
        self.native &= ~features

    @property
    def link(self) -> ScriptedLink:
        """The newest link."""
        return self.links[-1]

    @property
    def subscription(self) -> ScriptedSubscription:
        """The newest subscription of the newest link."""
        return self.link.subscriptions[-1]

    def hold(self, *verbs: str) -> None:
        """Hold answers: see ``Script.hold``."""
        self.script.hold(*verbs)

    def release(self, verb: str, count: int | None = None, *, order: Callable[[list[Question]], Any] = iter) -> int:
        """Send held answers: see ``Script.release``."""
        return self.script.release(verb, count, order=order)
