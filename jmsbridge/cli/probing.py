"""The steps of ``doctor``, and the remedy for the first one that fails."""

import contextlib
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from jmsbridge import Connection, TextMessage
from jmsbridge.config import Target
from jmsbridge.errors import JMSError
from jmsbridge.spi import (
    AccessDenied,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
    Endpoint,
    Native,
    registry,
)
from jmsbridge.transport.backend import Networked
from jmsbridge.transport.network.diagnosis import trust_remedy
from jmsbridge.transport.network.tls import TlsOptions, client_context

__all__ = ["Step", "probe", "there_and_back"]

_PATIENCE = 10.0

_ADVICE: list[tuple[type[BackendError], str]] = [
    (
        AuthenticationFailed,
        "if that does not say why: check user and password (see `jmsbridge config show`), and that the user exists",
    ),
    (AccessDenied, "the broker knows the user; an administrator must grant the permission"),
    (ClientIdRefused, "another connection has this client_id, or the broker does not accept it: choose another one"),
    (ConnectFailed, "the server does not answer in this protocol: check scheme and port, and the broker's log"),
]
_OF_A_FILE = "the text above says what to do about the file"
_NO_ADVICE = "the text above is from the broker; its log may say more"


class Step(msgspec.Struct, frozen=True):
    """One step; ``advice`` says what to do if it is not ``good``. A ``doubtful`` step does not end the probe."""

    endpoint: str
    name: str
    good: bool
    text: str
    advice: str = ""
    doubtful: bool = False


class _Stop(Exception):
    """A step failed, so that the following ones are skipped."""

    def __init__(self, text: str, advice: str) -> None:
        super().__init__(text)
        self.advice = advice


class _Silent:
    """``LinkEvents`` that ignore everything."""

    def lost(self, *_: Any, **__: Any) -> None:
        pass

    channel_lost = subscription_lost = throttled = lost


def probe(resolved: Target, endpoint: Endpoint, tell: Callable[[Step], None]) -> Native | None:
    """Try to reach one broker step by step, reporting each; returns what it offers, or None if a step failed."""
    endpoint = msgspec.structs.replace(endpoint, connect_timeout=resolved.options.connect_timeout)
    found: list[Native] = []
    doubts: list[str] = []
    steps = _of_a_host if endpoint.host is not None else _of_a_path
    name = ""
    try:
        for name, step in steps(resolved, endpoint, doubts):
            text = step()
            if text:
                tell(Step(str(endpoint), name, not text.startswith("?"), text.removeprefix("?"), "", text[0] == "?"))
        name = "login"
        tell(Step(str(endpoint), name, True, _login(resolved, endpoint, found, doubts)))
    except _Stop as stop:
        tell(Step(str(endpoint), name, False, str(stop), ". ".join([stop.advice, *doubts])))
        return None
    return found[0]


_Steps = Iterator[tuple[str, Callable[[], str]]]


def _of_a_path(resolved: Target, endpoint: Endpoint, doubts: list[str]) -> _Steps:
    if not endpoint.path:
        return
    path = Path(endpoint.path).expanduser()
    yield "folder", lambda: _folder(path.parent)
    yield "file", lambda: _file(path)


def _folder(folder: Path) -> str:
    if not folder.is_dir():
        raise _Stop(f"the folder {str(folder)!r} does not exist", "create it, or correct the path in the URL")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _Stop(f"the folder {str(folder)!r} is not writable", "grant this user write permission")
    return f"{folder} is writable"


def _file(path: Path) -> str:
    if not path.exists():
        return f"{path} will be created"
    if not path.is_file():
        raise _Stop(f"{str(path)!r} is not a file", "name a file in the URL, such as embedded:orders.db")
    if not os.access(path, os.R_OK | os.W_OK):
        raise _Stop(f"{str(path)!r} cannot be read and written", "grant this user read and write permission")
    return f"{path} exists, {path.stat().st_size:,} bytes"


def _of_a_host(resolved: Target, endpoint: Endpoint, doubts: list[str]) -> _Steps:
    host = endpoint.host or ""
    timeout = resolved.options.connect_timeout
    backend = registry.load(endpoint.scheme)
    port = endpoint.port or (backend.port if isinstance(backend, Networked) else None)
    if isinstance(backend, Networked) and backend.limits:
        limits = backend.limits
        yield "client library", lambda: f"?{limits}"
    yield "name", lambda: _resolve(host)
    if port is not None:
        yield "TCP", lambda: _tcp(host, port, timeout)
        options = resolved.backend_options
        if isinstance(backend, Networked) and backend.tls and isinstance(options, TlsOptions):
            yield "TLS", lambda: _tls(host, port, options, timeout, doubts)


def _resolve(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise _Stop(
            f"the name {host!r} has no address ({error})", "check its spelling, the network and the name server"
        ) from error
    return f"{host} is {', '.join(dict.fromkeys(str(each[4][0]) for each in found))}"


def _tcp(host: str, port: int, timeout: float) -> str:
    started = time.perf_counter()
    try:
        with socket.create_connection((host, port), timeout=timeout):
            pass
    except ConnectionRefusedError as error:
        raise _Stop(
            f"nothing listens at {host}, port {port}",
            "start the broker, or its listener for this protocol; check the port",
        ) from error
    except TimeoutError as error:
        raise _Stop(
            f"no answer from {host}, port {port}, within {timeout:g} s",
            "a firewall may block it; check host and port",
        ) from error
    except OSError as error:
        raise _Stop(f"{host}, port {port}: {error}", "check the network to the broker") from error
    return f"port {port} is open, {_milliseconds(started)}"


def _tls(host: str, port: int, options: TlsOptions, timeout: float, doubts: list[str]) -> str:
    try:
        context = client_context(options, f"{host}, port {port}")
    except ConnectFailed as error:
        raise _Stop(str(error), "correct the options ca_file, certificate and key") from error
    try:
        return _handshake(context, host, port, options.server_name or host, timeout)
    except ssl.SSLCertVerificationError as error:
        doubts.append(f"The certificate was not accepted: {trust_remedy(error)}")
        by = options.ca_file or "this machine's own authorities"
        return f"?the certificate was not accepted: {error.verify_message.rstrip('.')} (checked with {by})"
    except ssl.SSLError as error:
        raise _Stop(
            f"no TLS at port {port}: {error.reason or error}",
            "this may be the port of the protocol without TLS: check port and scheme",
        ) from error
    except OSError as error:
        raise _Stop(f"the TLS handshake failed: {error}", "this may be the port of the protocol without TLS") from error


def _handshake(context: ssl.SSLContext, host: str, port: int, name: str, timeout: float) -> str:
    with (
        socket.create_connection((host, port), timeout=timeout) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        certificate = secure.getpeercert()
        valid = f"valid until {certificate['notAfter']}" if certificate else "not checked"
        return f"{secure.version()}, certificate {valid}"


def _login(resolved: Target, endpoint: Endpoint, found: list[Native], doubts: list[str]) -> str:
    started = time.perf_counter()
    backend = registry.load(resolved.scheme)
    try:
        link = backend.open(endpoint, resolved.backend_options, _Silent())
    except BackendError as error:
        advice = next((text for kind, text in _ADVICE if isinstance(error, kind)), _NO_ADVICE)
        if endpoint.host is None and isinstance(error, ConnectFailed):
            advice = _OF_A_FILE
        if not isinstance(error, ConnectFailed):
            doubts.clear()  # the certificate was accepted
        raise _Stop(str(error), advice) from error
    found.append(link.native)
    text = f"{link.broker}, logged in{f' as {endpoint.user}' if endpoint.user else ''}, {_milliseconds(started)}"
    with contextlib.suppress(BackendError):  # the link is discarded anyway
        link.close()
    return text


def there_and_back(connection: Connection, target: str) -> Step:
    """Send a message to a temporary queue and receive it."""
    try:
        connection.start()
        session = connection.create_session()
        queue = session.create_temporary_queue()
        consumer = session.create_consumer(queue)
        started = time.perf_counter()
        sent = session.create_text_message("jmsbridge doctor ✓")
        sent.set_int_property("number", 42)
        session.create_producer(queue).send(sent)
        received: Any = consumer.receive(timeout=_PATIENCE)
        elapsed = _milliseconds(started)
        whole = isinstance(received, TextMessage) and received.text == sent.text
        if not whole or received.get_int_property("number") != 42:
            raise JMSError(f"not received within {_PATIENCE:.0f} s" if received is None else "it was changed")
        consumer.close()
        queue.delete()
    except JMSError as error:
        advice = (
            "the user may not be allowed to create temporary queues, or the broker is short of memory or disk space"
        )
        return Step(target, "message", False, f"round trip of a message: {error}", advice)
    return Step(target, "message", True, f"a message was sent to a temporary queue and received in {elapsed}")


def _milliseconds(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.1f} ms"
