"""Opens a connection: TCP, TLS, SASL, AMQP's open. Learns what the broker is and offers, or where it redirects to."""

import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import proton

from jmsbridge.spi import BackendError, Endpoint
from jmsbridge.transport.literal_names import check_client_id
from jmsbridge.transport.network.tls import client_context
from jmsbridge_amqp.connection.capabilities import DESIRED
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import UNAUTHORIZED, Failure, failure_of
from jmsbridge_amqp.connection.mechanisms import mechanisms_of, no_mechanism
from jmsbridge_amqp.connection.options import AmqpOptions
from jmsbridge_amqp.connection.products import Product, product_of

__all__ = ["PORT", "TLS_PORT", "Facts", "Redirected", "open_connection"]

PORT, TLS_PORT = 5672, 5671
"""The usual ports of AMQP."""

_MAX_FRAME = 1 << 20
_CHANNELS = 32767
_FAILED_OPEN = "amqp:connection-establishment-failed"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the broker said when the connection opened."""

    product: Product
    name: str
    offered: frozenset[str]


class Redirected(Exception):
    """The broker names another address to connect to."""

    def __init__(self, host: str, port: int | None, virtual_host: str | None) -> None:
        super().__init__(f"{host}:{port or ''}")
        self.host = host
        self.port = port
        self.virtual_host = virtual_host


def open_connection(
    driver: Driver,
    endpoint: Endpoint,
    options: AmqpOptions,
    deadline: float,
    done: Callable[[Facts | None, BaseException | None], None],
) -> None:
    """Connect to the endpoint until this ``time.monotonic()``; ``done`` gets the facts or the error. I/O thread."""
    tls = endpoint.scheme == "amqps"
    host = endpoint.host or "localhost"
    try:
        check_client_id(endpoint)
        context = client_context(options, endpoint) if tls else None
        mechanisms = mechanisms_of(endpoint, options)
    except BackendError as error:
        done(None, error)
        return

    def failed(error: BaseException) -> None:
        unfit = isinstance(error, Failure) and error.name == UNAUTHORIZED and not driver.transport.sasl().mech
        done(None, no_mechanism(endpoint, mechanisms, driver.first) if unfit else error)

    driver.opening = failed

    def opened(error: BaseException | None) -> None:
        if error is not None:
            done(None, error)
            return
        connection, transport = _set_up(endpoint, options, mechanisms)
        driver.begin(connection, transport)
        driver.controls[driver.calls.handle(connection)] = _Opening(driver, done).on_control
        connection.open()
        driver.batch(lambda: None)

    port = endpoint.port or (TLS_PORT if tls else PORT)
    driver.stream.connect(host, port, context, options.server_name or host, deadline, opened)


def _set_up(endpoint: Endpoint, options: AmqpOptions, mechanisms: str) -> tuple[Any, Any]:
    connection, transport = proton.Connection(), proton.Transport()
    connection.container = endpoint.client_id or f"ID:{uuid.uuid4()}:1"
    connection.hostname = options.virtual_host or endpoint.host or "localhost"
    if endpoint.user and mechanisms != "ANONYMOUS":
        connection.user = endpoint.user
        connection.password = endpoint.password or ""
    connection.desired_capabilities = proton.SymbolList(DESIRED)
    connection.properties = proton.PropertyDict({"product": "JMS-bridge client", "platform": "Python"})
    sasl = transport.sasl()
    sasl.allowed_mechs(mechanisms)
    sasl.allow_insecure_mechs = True  # proton does not see our TLS; without TLS it is the user's choice of scheme
    transport.max_frame_size = _MAX_FRAME
    transport.channel_max = _CHANNELS
    transport.idle_timeout = float(options.heartbeat)
    return connection, transport


class _Opening:
    """Waits for the broker's open, and later for its close."""

    def __init__(self, driver: Driver, done: Callable[[Facts | None, BaseException | None], None]) -> None:
        self._driver = driver
        self._done = done

    def on_control(self, kind: str) -> None:
        connection = self._driver.connection
        if kind == "CONNECTION_REMOTE_OPEN":
            properties = {str(key): value for key, value in (connection.remote_properties or {}).items()}
            if _FAILED_OPEN in properties:  # a close with the reason follows
                return
            product, name = product_of(properties)
            offered = connection.remote_offered_capabilities or ()
            self._driver.beat()
            self._done(Facts(product=product, name=name, offered=frozenset(map(str, offered))), None)
        elif kind == "CONNECTION_REMOTE_CLOSE":
            failure = failure_of(connection.remote_condition)
            connection.close()
            if self._driver.opening is None:
                self._driver.life.die(failure)
            else:  # perhaps after the open: some brokers look at what it says only then
                self._done(None, _redirection(failure) or failure)


def _redirection(failure: Failure) -> Redirected | None:
    """Where the broker redirects to; None if it does not, or names no address that can be used."""
    host = failure.info.get("network-host")
    if failure.name != "amqp:connection:redirect" or not host:
        return None
    port, virtual = str(failure.info.get("port") or ""), failure.info.get("hostname")
    if port and not (port.isdecimal() and len(port) <= 5 and 0 < int(port) < 1 << 16):
        return None
    return Redirected(str(host), int(port) if port else None, str(virtual) if virtual else None)
