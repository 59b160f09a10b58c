"""One link of a client, as the peer sees it. For the peer's thread, but for what is plain data."""

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import proton

from tests.amqp.peer.script import Condition

if TYPE_CHECKING:
    from tests.amqp.peer.connection import PeerConnection

__all__ = ["PeerLink", "condition_of"]


def condition_of(said: Condition | None) -> proton.Condition | None:
    """As proton takes it."""
    if said is None:
        return None
    info = {proton.symbol(key): value for key, value in said.info.items()} or None
    return proton.Condition(said.name, said.description, info)


@dataclass(eq=False)
class PeerLink:
    """``receives`` says that the client receives. The address is None for the anonymous relay and the coordinator."""

    connection: "PeerConnection" = field(repr=False)
    proton: Any = field(repr=False)
    name: str
    receives: bool
    address: str | None
    coordinator: bool
    capabilities: tuple[str, ...]
    stock: deque[bytes] = field(default_factory=deque)
    """Messages for this link alone, before those of the address."""
    delivered: int = 0
    has_begun: bool = False
    """Whether a part of a message was written, which uses the credit up before it ends."""
    refused: bool = False

    def grant(self, count: int) -> None:
        """Credit for a client that sends."""
        self.proton.flow(count)
        self.connection.flush()

    def answer_drain(self) -> None:
        """Return the credit of a drain that was not answered."""
        self.proton.drained()
        self.connection.flush()

    def ask_credit_back(self) -> None:
        """Drain a client that sends."""
        self.proton.drain(0)
        self.connection.flush()

    def close(self, condition: Condition | None = None) -> None:
        """End it."""
        self.proton.condition = condition_of(condition)
        self.proton.close()
        self.connection.flush()

    def detach(self, condition: Condition | None = None) -> None:
        """End it, without closing it."""
        self.proton.condition = condition_of(condition)
        self.proton.detach()
        self.connection.flush()

    def end_session(self, condition: Condition | None = None) -> None:
        """End its session, with all links there."""
        session = self.proton.session
        session.condition = condition_of(condition)
        session.close()
        self.connection.flush()

    def deliver(self, *messages: bytes) -> None:
        """To this link, as its credit allows; the bytes may be anything."""
        self.stock.extend(messages)
        self.connection.serve(self)
        self.connection.flush()

    def deliver_settled(self, *messages: bytes) -> None:
        """To this link, settled already."""
        for data in messages:
            delivery = self.proton.delivery(f"{self.name}-settled-{self.delivered}")
            self.delivered += 1
            self.proton.stream(data)
            self.proton.advance()
            delivery.settle()
        self.connection.flush()

    def begin(self, data: bytes) -> Any:
        """The first part of a message."""
        self.delivered += 1
        delivery = self.proton.delivery(f"{self.name}-part-{self.delivered}")
        delivery.context = data
        self.has_begun = True
        self.proton.stream(data)
        self.connection.flush()
        return delivery

    def finish(self, data: bytes) -> None:
        """The rest of what was begun."""
        self.has_begun = False
        self.proton.stream(data)
        self.proton.advance()
        self.connection.flush()

    def abort(self) -> None:
        """What was begun is nothing."""
        self.has_begun = False
        self.proton.current.abort()
        self.connection.flush()
