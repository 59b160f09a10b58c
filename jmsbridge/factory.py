"""Connection factories, ``connect`` and ``context`` (Jakarta Messaging 3.1 sections 4.3, 6.1)."""

from collections.abc import Sequence
from typing import Any, Never, NoReturn, TypeVar, overload

from jmsbridge.config import Target, resolve
from jmsbridge.connection import Connection
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.errors import InvalidCall, JMSException, UnsupportedFeatureException, unchecked
from jmsbridge.modes import MISSING, chosen_mode, split_login
from jmsbridge.simplified.context import JMSContext
from jmsbridge.spi import registry
from jmsbridge.strict import Strict

__all__ = ["ConnectionFactory", "connect", "context"]

K = TypeVar("K", bound=Connection)


class ConnectionFactory(Strict):
    """Holds a target and its options, but no connection; thread-safe and picklable.

    ``target`` is a URL, a list of URLs for failover, or the name of a profile; None means ``$JMSBRIDGE_URL``, or the
    embedded broker. ConfigurationError if the target or an option is wrong.
    """

    __slots__ = ("__weakref__", "_given", "_options", "_target")

    def __init__(self, target: str | Sequence[str] | None = None, *wrong: Never, **options: Any) -> None:
        if wrong or isinstance(target, int):
            _refuse(type(self).__name__)
        self._given = target
        self._options = options
        self._target = resolve(target, options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConnectionFactory):
            return NotImplemented
        return (type(self), self._given, self._options) == (type(other), other._given, other._options)

    def __hash__(self) -> int:
        return hash((type(self), repr(self._given), len(self._options)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._given, self._options)

    def _resolved(self, user_name: str | None, password: str | None) -> Target:
        overrides = dict(self._options)
        if user_name is not None:
            overrides["user"] = user_name
        if password is not None:
            overrides["password"] = password
        return resolve(self._given, overrides) if overrides != self._options else self._target

    def _connect(self, kind: type[K], user_name: str | None, password: str | None) -> K:
        target = self._resolved(user_name, password)
        return kind(target, registry.load(target.scheme))

    def create_connection(self, user_name: str | None = None, password: str | None = None) -> Connection:
        """A new connection, stopped; JMSSecurityException when the broker refuses the credentials."""
        return self._connect(Connection, user_name, password)

    @overload
    def create_context(
        self, session_mode: int = AUTO_ACKNOWLEDGE, *, user_name: str | None = None, password: str | None = None
    ) -> JMSContext: ...
    @overload
    def create_context(
        self, user_name: str | None, password: str | None = None, session_mode: int = AUTO_ACKNOWLEDGE
    ) -> JMSContext: ...
    def create_context(
        self, *given: Any, user_name: Any = MISSING, password: Any = MISSING, session_mode: Any = MISSING
    ) -> JMSContext:
        """A new connection with one session, in the simplified API: ``(mode)``, or ``(user_name, password, mode)``."""
        user, secret, wanted = split_login(given, user_name, password, session_mode)
        try:
            mode = chosen_mode("create_context", (), session_mode=wanted)
            return JMSContext(self.create_connection(user, secret), mode)
        except JMSException as error:
            raise unchecked(error) from error

    def create_xa_connection(self, *arguments: Any) -> Connection:
        """Not supported: Python has no XA transaction manager."""
        raise UnsupportedFeatureException("XA connections are not supported; use a transacted session")

    def create_xa_context(self, *arguments: Any) -> JMSContext:
        """Not supported: Python has no XA transaction manager."""
        raise UnsupportedFeatureException("XA contexts are not supported; use a context with SESSION_TRANSACTED")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._target!r})"


def _rebuild(kind: type[ConnectionFactory], target: Any, options: dict[str, Any]) -> ConnectionFactory:
    return kind(target, **options)


def connect(
    target: str | Sequence[str] | None = None,
    *wrong: Never,
    user: str | None = None,
    password: str | None = None,
    **options: Any,
) -> Connection:
    """A connection to ``target``: a URL, a list of URLs for failover, or a profile's name.

    None means ``$JMSBRIDGE_URL``, or the embedded broker. ``options`` are listed in ``jmsbridge.config.Options``.
    """
    if wrong or isinstance(target, int):
        _refuse("connect")
    return ConnectionFactory(target, **options).create_connection(user, password)


def context(
    target: str | Sequence[str] | None = None,
    session_mode: int = AUTO_ACKNOWLEDGE,
    *wrong: Never,
    user: str | None = None,
    password: str | None = None,
    **options: Any,
) -> JMSContext:
    """A connection with one session, in the simplified API; arguments as ``connect``."""
    if wrong or isinstance(target, int) or isinstance(session_mode, str):
        _refuse("context", ", session_mode=…")
    return ConnectionFactory(target, **options).create_context(user, password, session_mode)


def _refuse(call: str, more: str = "") -> NoReturn:
    login = "" if call.endswith("Factory") else ", user=…, password=…"
    raise InvalidCall(f"pass the target first and everything else by name: {call}(target{login}{more}, **options)")
