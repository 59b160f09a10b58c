"""Artemis's management messages over one STOMP connection: its JSON agent takes two minutes to give up inside it."""

import json
import socket
from types import TracebackType
from typing import Any

from integration.brokers.errors import BrokerFailed
from integration.brokers.table import HOST, PASSWORD, USER

__all__ = ["Management"]

_REPLIES = "jmsbridge.management.replies"
_KEPT = ("DLQ", "ExpiryQueue")


class Management:
    """A connection for management; calls block, 15 seconds at most."""

    def __init__(self, port: int) -> None:
        self._link = socket.create_connection((HOST, port), 15)
        self._rest = b""
        self._send("CONNECT", {"accept-version": "1.2", "host": "/", "login": USER, "passcode": PASSWORD})
        self._expect("CONNECTED")
        self._send("SUBSCRIBE", {"id": "1", "destination": f"/queue/{_REPLIES}"})

    def __enter__(self) -> "Management":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._link.close()

    def call(self, resource: str, operation: str, *arguments: object) -> Any:
        """What an operation of a management resource answers; BrokerFailed when it was refused."""
        headers = {
            "destination": "activemq.management",
            "_AMQ_ResourceName": resource,
            "_AMQ_OperationName": operation,
            "reply-to": f"/queue/{_REPLIES}",
        }
        self._send("SEND", headers, json.dumps(arguments))
        answered, body = self._expect("MESSAGE")
        if answered.get("_AMQ_OperationSucceeded") != "true":
            raise BrokerFailed(f"Artemis refused {operation} on {resource}: {body[:300]}")
        values = json.loads(body) if body.strip() else []
        return values[0] if values else None

    def purge(self) -> None:
        """Destroy every queue and address that clients made, and empty the others."""
        for queue in self._listed("getQueueNames"):
            if queue in _KEPT:
                self.call(f"queue.{queue}", "removeAllMessages")
            elif queue != _REPLIES:
                self.call("broker", "destroyQueue", queue, True, False)
        for address in self._listed("getAddressNames"):
            if address not in (*_KEPT, _REPLIES):
                self.call("broker", "deleteAddress", address, True)

    def _listed(self, operation: str) -> list[str]:
        names: list[str] = self.call("broker", operation)
        return [name for name in names if not name.startswith(("$", "activemq."))]

    def _send(self, command: str, headers: dict[str, str], body: str = "") -> None:
        lines = [command, *(f"{_escaped(key)}:{_escaped(value)}" for key, value in headers.items())]
        self._link.sendall(("\n".join(lines) + f"\n\n{body}\0").encode())

    def _expect(self, command: str) -> tuple[dict[str, str], str]:
        while b"\0" not in self._rest:
            part = self._link.recv(65536)
            if not part:
                raise BrokerFailed("Artemis closed the connection for management")
            self._rest += part
        frame, _, self._rest = self._rest.partition(b"\0")
        head, _, body = frame.decode().lstrip("\n").partition("\n\n")
        got, *lines = head.split("\n")
        if got != command:
            raise BrokerFailed(f"Artemis answered {got} instead of {command}: {body[:300]}")
        return dict(line.split(":", 1) for line in lines), body


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace(":", "\\c")
