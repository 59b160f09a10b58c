"""A client's active connection to its broker (Jakarta Messaging 3.1 section 6.1)."""

import warnings
import weakref
from datetime import timedelta
from typing import Any, ClassVar, NoReturn, overload

from jmsbridge.administration import Administration
from jmsbridge.closing import Closing
from jmsbridge.config import Target
from jmsbridge.core import arguments
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE, DupsOk
from jmsbridge.core.plan import Capability
from jmsbridge.core.runtime.interrupts import Work, start_whole, wait_whole
from jmsbridge.core.session import SessionSettings
from jmsbridge.errors import ConfigurationError, UnsupportedFeatureException
from jmsbridge.listeners import EXCEPTION_LISTENER_NAMES, AnyExceptionListener, as_function
from jmsbridge.metadata import ConnectionMetaData
from jmsbridge.modes import MISSING, chosen_mode
from jmsbridge.positions import MessagePositions
from jmsbridge.session import Session
from jmsbridge.spi import Backend
from jmsbridge.strict import Strict

__all__ = ["Connection"]


class Connection(Closing, Strict):
    """A connection to a broker, created stopped: it delivers no messages before ``start``. Thread-safe.

    Reconnects by itself when its link is lost, as the ``reconnect_…`` options say. Every method of a closed
    connection raises IllegalStateException; ``close`` is idempotent.
    """

    __slots__ = ("__weakref__", "_core", "_exception_listener")
    _advice: ClassVar[dict[str, str]] = EXCEPTION_LISTENER_NAMES
    _exception_listener: AnyExceptionListener | None

    def __init__(self, target: Target, backend: Backend) -> None:
        kind = _traced_core() if target.options.telemetry else ConnectionCore
        self._core = wait_whole(lambda: kind(target, backend), lambda core: core.close())
        self._exception_listener = None
        weakref.finalize(self, _close_collected, self._core).atexit = False

    # ---- attributes

    @property
    def client_id(self) -> str | None:
        """The client identifier; set once, before any other use of the connection, or configured (section 6.1.2)."""
        self._core.check_open()
        return self._core.client_id

    @client_id.setter
    def client_id(self, client_id: str) -> None:
        self._core.set_client_id(client_id)

    @property
    def meta_data(self) -> ConnectionMetaData:
        """Versions of the API, of jmsbridge and of the broker."""
        self._core.check_open()
        link = self._core.supervisor.link
        return ConnectionMetaData(link.broker if link is not None else "an unknown broker")

    @property
    def capabilities(self) -> dict[str, Capability]:
        """What the broker of the present link can do, by feature: natively, emulated at a price, or refused.

        Under the names of the option ``emulation``. A single queue or subscription may offer less; a reconnect to
        another broker may change it.
        """
        self._core.check_open()
        return self._core.wait_link()[1].capabilities()

    @property
    def exception_listener(self) -> AnyExceptionListener | None:
        """Called with each problem that no call reports, one at a time, on a thread of its own (section 6.1.6).

        A callable or an object with ``on_exception``, or None.
        """
        self._core.check_open()
        return self._exception_listener

    @exception_listener.setter
    def exception_listener(self, listener: AnyExceptionListener | None) -> None:
        self._core.check_open()
        self._core.exception_listener = as_function(listener, "on_exception", "an exception listener")
        self._exception_listener = listener

    @property
    def admin(self) -> Administration:
        """The broker's destinations: list, create, remove, purge, move; UnsupportedFeature where the backend cannot."""
        self._core.check_open()
        return Administration(self._core, connection=self)

    @property
    def positions(self) -> MessagePositions:
        """Messages by their position, read without consuming; UnsupportedFeature where the broker keeps no log."""
        self._core.check_open()
        return MessagePositions(self._core, connection=self)

    @property
    def state(self) -> str:
        """``connected``, ``reconnecting``, ``failed`` when reconnecting was given up, or ``closed``; never waits."""
        return self._core.supervisor.state

    # ---- sessions

    @overload
    def create_session(
        self,
        session_mode: int = AUTO_ACKNOWLEDGE,
        *,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> Session: ...
    @overload
    def create_session(
        self,
        transacted: bool = False,
        acknowledge_mode: int = AUTO_ACKNOWLEDGE,
        *,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> Session: ...
    def create_session(
        self,
        *given: Any,
        transacted: Any = MISSING,
        acknowledge_mode: Any = MISSING,
        session_mode: Any = MISSING,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> Session:
        """A session: ``create_session(mode)`` as in JMS 2.0, or ``create_session(transacted, mode)`` as in JMS 1.1.

        The default mode is AUTO_ACKNOWLEDGE. A transacted session ignores the acknowledge mode. The other arguments
        override the connection's options; ``dups_ok_interval`` is in seconds.
        """
        self._core.check_open()
        mode = chosen_mode("create_session", given, transacted, acknowledge_mode, session_mode)
        return Session(self, self._settings(mode, prefetch, dups_ok_messages, dups_ok_interval))

    def _settings(
        self,
        mode: int,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> SessionSettings:
        options = self._core.options
        interval = options.dups_ok_interval if dups_ok_interval is None else arguments.seconds(dups_ok_interval)
        return SessionSettings(
            mode,
            options.prefetch if prefetch is None else arguments.count(prefetch, "prefetch"),
            DupsOk(
                options.dups_ok_messages
                if dups_ok_messages is None
                else arguments.count(dups_ok_messages, "dups_ok_messages"),
                interval,
            ),
            options.group_ack_threshold,
        )

    def create_connection_consumer(self, *arguments: Any, **options: Any) -> NoReturn:
        """Not supported: an application-server facility."""
        self._core.check_open()
        raise UnsupportedFeatureException(
            "connection consumers (an application-server facility) are not supported; use consumers of several sessions"
        )

    create_shared_connection_consumer = create_connection_consumer
    create_durable_connection_consumer = create_connection_consumer
    create_shared_durable_connection_consumer = create_connection_consumer

    # ---- life

    def start(self) -> None:
        """Start or resume the delivery of messages; idempotent."""
        self._core.start()

    def stop(self) -> None:
        """Pause delivery; returns when no listener is running and no receive will return a message; idempotent.

        IllegalState from a message listener of this connection; allowed from a completion listener (rule CN-5).
        """
        self._core.stop()

    def close(self) -> None:
        """Close all sessions in the order of their creation, delete temporary destinations, and disconnect.

        Waits as ``Session.close`` does. IllegalState from a callback of one of its sessions. Idempotent.
        """
        self._core.close()

    def __repr__(self) -> str:
        core = self._core
        return f"<{type(self).__name__} {core.name} to {core.target.endpoints[0]} {core.life.state.name.lower()}>"


def _traced_core() -> type[ConnectionCore]:
    try:
        from jmsbridge.telemetry.cores import TracedConnectionCore
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"option 'telemetry' needs {error.name}, which is not installed: pip install 'jmsbridge[otel]'"
        ) from error
    return TracedConnectionCore


def _close_collected(core: ConnectionCore) -> None:
    """The connection and all that was created from it were garbage collected, without a call of ``close``."""
    if not core.is_needed():
        start_whole(Work(core.close))  # on a thread of its own: the garbage collector may call this on any thread
        warnings.warn(f"connection {core.name} to {core.target} was not closed", ResourceWarning, stacklevel=2)
