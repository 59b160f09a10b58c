"""The backend itself: opens links as the script allows and keeps what a broker would."""

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
"""All that a broker can do."""


class ScriptedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script needs no options."""


class ScriptedBackend:
    """A backend whose broker is a test."""

    options: type[msgspec.Struct] = ScriptedOptions

    def __init__(
        self,
        *,
        name: str = "scripted",
        native: Native = FULL,
        auto: bool = False,
        supply: int | None = None,
        template: Envelope | None = None,
    ) -> None:
        self.name = name
        self.native = native
        self.auto = auto
        self.supply = supply
        self.template = template
        self.script = Script()
        self.links: list[ScriptedLink] = []
        self.accepted: list[Envelope] = []
        """What the broker is responsible for, in the order in which it became so."""
        self.settled: list[tuple[Any, Outcome]] = []
        """Tokens and what became of them, in the order in which it took effect."""
        self._refusals = 0
        self._refusal: BackendError | None = None

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A new link, unless the script refuses."""
        if self.auto:
            return AutoLink(self.native, self.supply, self.template)
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
        """Be the backend of scheme ``name`` for a while."""
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
        """Later links lack these features."""
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
        """Keep answers back: see ``Script.hold``."""
        self.script.hold(*verbs)

    def release(self, verb: str, count: int | None = None, *, order: Callable[[list[Question]], Any] = iter) -> int:
        """Answer what is held: see ``Script.release``."""
        return self.script.release(verb, count, order=order)
