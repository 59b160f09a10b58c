"""As much STOMP as administering and testing a broker needs: frames without content length, in sequence."""

import socket
import ssl
from types import TracebackType

from integration.lab.errors import BrokerFailed
from integration.lab.table import HOST, PASSWORD, USER

__all__ = ["Stomp"]


class Stomp:
    """One connection; calls block, for 15 seconds at most; BrokerFailed says what the broker refused."""

    def __init__(
        self, port: int, password: str | None = PASSWORD, *, user: str = USER, tls: ssl.SSLContext | None = None
    ) -> None:
        """Without a `password` there is no login; `tls` is for a listener with TLS."""
        self._link = socket.create_connection((HOST, port), 15)
        self._rest = b""
        try:
            if tls is not None:
                self._link = tls.wrap_socket(self._link, server_hostname="localhost")
            login = {} if password is None else {"login": user, "passcode": password}
            self.send("CONNECT", {"accept-version": "1.2", "host": "/", **login})
            self.expect("CONNECTED")
        except BaseException:
            self._link.close()
            raise

    def __enter__(self) -> "Stomp":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._link.close()

    def send(self, command: str, headers: dict[str, str], body: str = "") -> None:
        """Write a frame."""
        escape = _plain if command == "CONNECT" else _escaped  # as the specification says
        lines = [command, *(f"{escape(key)}:{escape(value)}" for key, value in headers.items())]
        self._link.sendall(("\n".join(lines) + f"\n\n{body}\0").encode())

    def expect(self, command: str) -> tuple[dict[str, str], str]:
        """Headers and body of the next frame, which must be of this kind."""
        while b"\0" not in self._rest:
            part = self._link.recv(65536)
            if not part:
                raise BrokerFailed(f"the broker closed the connection instead of sending {command}")
            self._rest += part
        frame, _, self._rest = self._rest.partition(b"\0")
        head, _, body = frame.decode().replace("\r\n", "\n").lstrip("\n").partition("\n\n")
        got, *lines = head.split("\n")
        if got != command:
            raise BrokerFailed(f"the broker sent {got} instead of {command}: {body[:300] or lines}")
        return dict(line.split(":", 1) for line in lines), body


def _plain(text: str) -> str:
    return text


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace(":", "\\c")
