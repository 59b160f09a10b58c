"""What the peer does: a well-behaved broker, unless a test says otherwise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tests.amqp.peer.link import PeerLink
    from tests.amqp.peer.records import Sent

__all__ = ["Attached", "Condition", "Discharged", "Outcome", "Script", "accept", "redirect"]


@dataclass(frozen=True)
class Condition:
    """An error condition, as the peer says it."""

    name: str
    description: str = "as the test wants"
    info: Mapping[str, Any] = field(default_factory=dict)


def redirect(host: str, port: int, *, link: bool = False) -> Condition:
    """The condition that sends a client elsewhere."""
    where = "link" if link else "connection"
    return Condition(f"amqp:{where}:redirect", "elsewhere", {"hostname": host, "network-host": host, "port": port})


@dataclass(frozen=True)
class Outcome:
    """The peer's answer to a message."""

    state: Literal["accepted", "rejected", "released", "modified", "received", "none"] = "accepted"
    condition: Condition | None = None
    """Of a rejected message."""
    settled: bool = True


accept = Outcome()

Attached = Condition | Literal["attach", "ignore", "end session", "close connection", "detach at once"]
"""How a link is answered: a condition refuses it, ``ignore`` never answers."""

Discharged = Outcome | Literal["omit", "die", "detach", "end session"]
"""How a discharge is answered, after it was carried out unless it is refused: ``die`` closes the socket, ``detach`` the
coordinator's link."""


@dataclass
class Script:
    """The peer's behaviour. What a test changes while connections are open counts for what comes next."""

    offered: tuple[str, ...] = ("ANONYMOUS-RELAY", "SHARED-SUBS", "DELAYED_DELIVERY", "sole-connection-for-container")
    properties: Mapping[str, Any] = field(default_factory=lambda: {"product": "peer", "version": "1.0"})
    idle_timeout: float = 0.0
    """Seconds of silence after which the peer says that it closes; it only says so."""
    enforces_idle: bool = False
    """Whether it does so: proton counts."""
    max_frame: int = 0
    channel_max: int = 0
    """The highest number of a session; 0 for any."""
    mechanisms: tuple[str, ...] = ("ANONYMOUS", "PLAIN")
    sasl_code: int = 0
    """1 is a wrong password, 2 to 4 are failures of the system."""
    header: bytes | None = None
    """Sent instead of any answer, then the socket is closed: another protocol."""
    connection: Condition | Literal["open", "ignore"] = "open"
    """A condition closes the connection when it opens."""
    session: Condition | Literal["begin", "ignore"] = "begin"
    """A condition ends each session when it begins."""
    attach: Callable[["PeerLink"], Attached] = lambda link: "attach"
    credit: int = 100
    """Granted to each sender at its attach, and again as it is used up; 0 withholds it."""
    coordinator_credit: int = 100
    outcome: Callable[["Sent"], Outcome | Literal["omit", "die"]] = lambda sent: accept
    """The answer to each message; ``omit`` leaves it to the test: ``sent.answer``."""
    declare: Callable[[], Literal["declare", "omit", "die"] | Condition] = lambda: "declare"
    discharge: Callable[[bytes, bool], Discharged] = lambda txn, fail: accept
    """With the id of the transaction and whether it is to be rolled back."""
    drains: bool = True
    """Whether a drain is answered; if not, by ``PeerLink.answer_drain``."""
    answers_detach: bool = True
    answers_end: bool = True
    answers_close: bool = True
    echoes_filters: bool = True
    max_message_size: int = 0
    browses: bool = True
    """Whether a link that browses is answered as one; if not, as one that consumes."""
    source_capabilities: tuple[str, ...] = ()
    """Of links to a receiver; if empty, those that it asks for."""
    coordinator_capabilities: tuple[str, ...] = ("amqp:local-transactions",)
