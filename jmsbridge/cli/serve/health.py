"""``--health-port``: tells over HTTP how the worker processes are doing."""

import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any

import msgspec

from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.errors import ConfigurationError

__all__ = ["Health", "HealthServer", "ProcessHealth"]

_PATIENCE = 5.0  # seconds for a client to ask
_CLIENTS = 32  # at once; a further one is not answered


class ProcessHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process."""

    number: int
    pid: int | None
    restarts: int
    state: str
    listeners: list[Any] = []


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """``state`` is the worst of the processes': ``stuck``, ``dead``, ``failed``, ``connecting``, ``reconnecting``,
    ``closed``, else ``connected``.
    """

    state: str
    processes: list[ProcessHealth]

    @property
    def is_live(self) -> bool:
        """Whether a restart would not help: no listener is over its deadline or blocks the event loop."""
        return self.state != "stuck"

    @property
    def is_ready(self) -> bool:
        """Whether all processes are connected and none is stuck."""
        return self.state == "connected"


class _Server(ThreadingHTTPServer):
    """A thread for each client, since one that says nothing must not keep the probes waiting."""

    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = BoundedSemaphore(_CLIENTS)
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """On the thread of the client."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


class HealthServer:
    """Answers ``/live``, ``/ready`` and ``/`` (which is as ``/ready``) with 200 or 503, and the health as JSON.

    ConfigurationError if it cannot listen there.
    """

    def __init__(self, host: str, port: int, health: Callable[[], Health]) -> None:
        try:
            self._server = _Server(host, port, _handler(health))
        except OSError as error:
            raise ConfigurationError(f"the health cannot be told on port {port} of {host}: {error}") from error
        start_thread("jmsbridge-run-health", lambda: self._server.serve_forever(poll_interval=0.5))

    @property
    def port(self) -> int:
        """The port; one that is free, if 0 was asked for."""
        return self._server.server_port

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


def _handler(health: Callable[[], Health]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE

        def do_GET(self) -> None:
            now = health()
            paths = {"/": now.is_ready, "/ready": now.is_ready, "/live": now.is_live}
            good = paths.get(self.path.partition("?")[0])
            body = b'{"error":"ask for /, /live or /ready"}' if good is None else msgspec.json.encode(now)
            self.send_response(404 if good is None else 200 if good else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Probes are not logged."""

    return Handler
