"""The embedded broker: Jakarta Messaging without a server, in the memory of this process or in a file.

``embedded:PATH`` is a broker in a file, which the processes of one host share; it is in the package ``file``. The rest
of this text is about the one in memory, in the package ``memory``.

``embedded:`` is one broker for the whole process; ``embedded:?broker=NAME`` is another one per name. Queues, topics
and durable subscriptions are created on first use and exist, with their messages, as long as the process, even without
connections; ``discard`` drops them. Sending, settling and granting run in the caller's thread, under the broker's one
lock, so every ticket is answered when the call returns; there is no I/O thread. A forked child starts with empty
brokers, and its inherited links are lost.

Start reading at the package ``memory``, or at ``file``; ``rules`` has what both refuse, and the error messages.
"""

from typing import Annotated, Any

import msgspec

from jmsbridge.spi import AuthenticationFailed, Backend, Endpoint, Link, LinkEvents, Native, NotSupported
from jmsbridge.transport.network.forking import at_fork
from jmsbridge_embedded import file, memory
from jmsbridge_embedded.memory import discard
from jmsbridge_embedded.native import NATIVE

__all__ = ["EmbeddedBackend", "EmbeddedOptions", "backend", "cut", "discard"]

_IN_MEMORY = 1_000_000
_Count = Annotated[int, msgspec.Meta(ge=1)]


class EmbeddedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``embedded:``. All but ``broker`` apply only to the connection that sets them."""

    broker: str = "default"
    """The name of the broker in this process; it is created on first use. Ignored by a broker in a file."""
    max_messages: _Count | None = None
    """Sends are refused while the broker holds that many messages: waiting, delayed, unsettled or in a transaction. The
    default is 1,000,000 in memory, and as many as the disk holds in a file."""
    duplicate_window: _Count = 20_000
    """How many duplicate ids a destination remembers; in a file also across restarts."""
    credentials: dict[str, str] | str = ""
    """Passwords by user name, also as ``"user:password,user:password"``. If any are set, other credentials are refused.
    For tests of authentication; it protects nothing, because each connection sets this option itself."""

    def __repr__(self) -> str:
        limits = f"max_messages={self.max_messages}, duplicate_window={self.duplicate_window}"
        return f"EmbeddedOptions(broker={self.broker!r}, {limits}, credentials={'***' if self.credentials else None})"


class EmbeddedBackend:
    """The SPI's Backend."""

    spi_version = 1
    name = "embedded"
    native: Native = NATIVE
    options: type[msgspec.Struct] = EmbeddedOptions

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """Open a link to the broker in the endpoint's file, or to the broker in memory that the options name."""
        if endpoint.host is not None:
            raise NotSupported(f"{endpoint} names a host; the embedded broker has none: use embedded: or embedded:PATH")
        options = options or EmbeddedOptions()
        _authenticate(endpoint, options.credentials)
        limit, window = options.max_messages, options.duplicate_window
        if endpoint.path:
            return file.open_link(endpoint, events, limit, window)
        return memory.named(options.broker).open(endpoint.client_id, events, limit or _IN_MEMORY, window)


backend: Backend = EmbeddedBackend()
"""The entry point ``embedded``."""


def cut(name: str = "default", path: str | None = None) -> None:
    """Kill every link of a broker as a broken network would; messages and durable subscriptions stay. For tests.

    With ``path``, kill this process's links to the broker in that file; other processes keep theirs.
    """
    if path is None:
        memory.cut(name)
    else:
        file.cut(path)


def _authenticate(endpoint: Endpoint, credentials: dict[str, str] | str) -> None:
    if isinstance(credentials, str):
        pairs = (pair.partition(":") for pair in credentials.split(",") if pair)
        credentials = {user: password for user, _, password in pairs}
    if not credentials:
        return
    if endpoint.user is None or endpoint.password is None:
        raise AuthenticationFailed("this embedded broker requires a user name and a password; one is missing")
    if credentials.get(endpoint.user) != endpoint.password:
        raise AuthenticationFailed(f"the embedded broker refused the user name {endpoint.user!r} or its password")


def _before_fork() -> None:
    file.before_fork()
    memory.before_fork()


def _after_fork() -> None:
    memory.after_fork()
    file.after_fork()


def _after_fork_in_child() -> None:
    file.abandon_all()
    memory.abandon_all()
    _after_fork()


at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
