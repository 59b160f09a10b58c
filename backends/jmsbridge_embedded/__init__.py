"""The embedded broker: Jakarta Messaging without a server, in the memory of this process or in a file.

``embedded:PATH`` is a broker in a file, which the processes of one host share; it is in the package ``file``. The rest
of this text is about the one in memory, in the package ``memory``.

``embedded:`` is one broker for the whole process; ``embedded:?broker=NAME`` is another one per name. Queues, topics
and durable subscriptions are made on first use and live, with their messages, as long as the process does, whoever
is connected; ``discard`` drops them. There is no I/O thread: sending, settling and granting run in the caller's
thread under the broker's one lock, so every answer is there when the call returns. A forked child starts with empty
brokers, and its inherited links are lost.

Start reading at the package ``memory``, or at ``file``; what both refuse, and in which words, is in ``rules``.
"""

from typing import Annotated, Any

import msgspec

from jmsbridge.spi import AuthenticationFailed, Backend, Endpoint, Link, LinkEvents, Native, NotSupported
from jmsbridge.transport.forking import at_fork
from jmsbridge_embedded import file, memory
from jmsbridge_embedded.memory import discard
from jmsbridge_embedded.native import NATIVE

__all__ = ["EmbeddedBackend", "EmbeddedOptions", "backend", "cut", "discard"]

_IN_MEMORY = 1_000_000
_Count = Annotated[int, msgspec.Meta(ge=1)]


class EmbeddedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``embedded:``. All but ``broker`` hold for the connection that gives them."""

    broker: str = "default"
    """Which broker of this process; one is made for each name. Without effect for a broker in a file."""
    max_messages: _Count | None = None
    """Sends are refused while the broker holds that many messages: waiting, delayed, unsettled or in a transaction. Not
    given, it is 1,000,000 in memory, and in a file as many as the disk holds."""
    duplicate_window: _Count = 20_000
    """How many duplicate ids a destination remembers; in a file also over restarts."""
    credentials: dict[str, str] | str = ""
    """Passwords by user name, also as ``"user:password,user:password"``. With any, other credentials are refused: a
    stand-in for a guarded broker in tests, no protection, since it is the connection itself that brings them."""

    def __repr__(self) -> str:
        limits = f"max_messages={self.max_messages}, duplicate_window={self.duplicate_window}"
        return f"EmbeddedOptions(broker={self.broker!r}, {limits}, credentials={'***' if self.credentials else None})"


class EmbeddedBackend:
    """The SPI's Backend."""

    name = "embedded"
    native: Native = NATIVE
    options: type[msgspec.Struct] = EmbeddedOptions

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A link to the broker in the file, or in memory to the one that the options name."""
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

    With ``path`` it is the broker in that file, of which other processes keep their links.
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
        raise AuthenticationFailed("this embedded broker wants a user name and a password; one is missing")
    if credentials.get(endpoint.user) != endpoint.password:
        raise AuthenticationFailed(f"the embedded broker refused the user name {endpoint.user!r} or its password")


def _before_fork() -> None:
    file.fork_lock.acquire()
    memory.before_fork()


def _after_fork() -> None:
    memory.after_fork()
    file.fork_lock.release()


def _after_fork_in_child() -> None:
    file.abandon_all()
    memory.abandon_all()
    _after_fork()


at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
