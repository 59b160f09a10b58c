"""Artemis's management messages over STOMP, because its JSON agent needs two minutes to stop with the broker."""

import json
import ssl
import uuid
from types import TracebackType
from typing import Any

from integration.lab.admin.stomp import Stomp
from integration.lab.errors import BrokerFailed
from integration.lab.table import PASSWORD

__all__ = ["Management"]

_REPLIES = "jmsbridge.management."
_EVERY = json.dumps({"field": "", "operation": "", "value": ""})
_KEPT = ("DLQ", "ExpiryQueue")


class Management:
    """The management of an Artemis over a STOMP connection, with the rights of its user. Calls block.

    Several may be open at the same time, each with its own queue for the answers, which is deleted with it.
    """

    def __init__(self, port: int, password: str | None = PASSWORD, *, tls: ssl.SSLContext | None = None) -> None:
        self._link = Stomp(port, password, tls=tls)
        self._replies = f"{_REPLIES}{uuid.uuid4()}"
        self._link.send("SUBSCRIBE", {"id": "1", "destination": f"/queue/{self._replies}"})

    def __enter__(self) -> "Management":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._link:
            if error is None:
                self._link.send("UNSUBSCRIBE", {"id": "1", "receipt": "no more answers"})
                self._link.expect("RECEIPT")
                self._send("broker", "destroyQueue", [self._replies, True, True], {"receipt": "closed"})
                self._link.expect("RECEIPT")

    def call(self, resource: str, operation: str, *arguments: object) -> Any:
        """Call an operation of a management resource; BrokerFailed if it was refused."""
        self._send(resource, operation, arguments, {"reply-to": f"/queue/{self._replies}"})
        answered, body = self._link.expect("MESSAGE")
        if answered.get("_AMQ_OperationSucceeded") != "true":
            raise BrokerFailed(f"Artemis refused {operation} on {resource}: {body[:300]}")
        values = json.loads(body) if body.strip() else []
        return values[0] if values else None

    def names(self, operation: str) -> list[str]:
        """Queues (`getQueueNames`) or addresses (`getAddressNames`), without internal ones and that for answers."""
        return sorted(name for name in self.call("broker", operation) if not _is_own(name))

    def depths(self) -> dict[str, int]:
        """Every queue with its number of messages, unacknowledged ones included."""
        found = json.loads(self.call("broker", "listQueues", _EVERY, 1, -1))["data"]
        return {queue["name"]: int(queue["messageCount"]) for queue in found if not _is_own(queue["name"])}

    def create(self, queue: str) -> None:
        """Create a durable queue on the address of the same name; BrokerFailed if it exists."""
        wanted = {"name": queue, "address": queue, "routing-type": "ANYCAST", "durable": True}
        self.call("broker", "createQueue", json.dumps(wanted))

    def delete(self, queue: str) -> None:
        """Delete a queue with its messages, also while it has consumers."""
        self.call("broker", "destroyQueue", queue, True, False)

    def empty(self, queue: str) -> int:
        """Remove the messages of a queue, and return how many they were."""
        removed: int = self.call(f"queue.{queue}", "removeAllMessages")
        return removed

    def set_password(self, user: str, password: str) -> None:
        """Create a user with the rights of all users, or set another password; a restart undoes that.

        Connections that are open stay open; every login from now on needs the new password.
        """
        known = {entry["username"] for entry in json.loads(self.call("broker", "listUser", ""))}
        self.call("broker", "resetUser" if user in known else "addUser", user, password, "users", True)
        self.call("broker", "clearAuthenticationCache")

    def purge(self) -> None:
        """Delete every queue and address that clients created, and empty the others."""
        for queue in self.names("getQueueNames"):
            if queue in _KEPT:
                self.empty(queue)
            else:
                self.delete(queue)
        for address in self.names("getAddressNames"):
            if address not in _KEPT:
                self.call("broker", "deleteAddress", address, True)

    def _send(self, resource: str, operation: str, arguments: object, headers: dict[str, str]) -> None:
        asked = {"_AMQ_ResourceName": resource, "_AMQ_OperationName": operation, **headers}
        self._link.send("SEND", {"destination": "activemq.management", **asked}, json.dumps(arguments))


def _is_own(name: str) -> bool:
    return name.startswith((_REPLIES, "$", "activemq."))
