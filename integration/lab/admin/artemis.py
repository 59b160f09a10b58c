"""Artemis's management messages over STOMP: the JSON agent that others have takes two minutes to give up inside it."""

import json
from typing import Any

from integration.lab.admin.stomp import Stomp
from integration.lab.errors import BrokerFailed

__all__ = ["Management"]

_REPLIES = "jmsbridge.management.replies"
_KEPT = ("DLQ", "ExpiryQueue")


class Management:
    """What an Artemis is asked and told, over a connection."""

    def __init__(self, link: Stomp) -> None:
        self._link = link
        link.send("SUBSCRIBE", {"id": "1", "destination": f"/queue/{_REPLIES}"})

    def call(self, resource: str, operation: str, *arguments: object) -> Any:
        """What an operation of a management resource answers; BrokerFailed when it was refused."""
        headers = {
            "destination": "activemq.management",
            "_AMQ_ResourceName": resource,
            "_AMQ_OperationName": operation,
            "reply-to": f"/queue/{_REPLIES}",
        }
        self._link.send("SEND", headers, json.dumps(arguments))
        answered, body = self._link.expect("MESSAGE")
        if answered.get("_AMQ_OperationSucceeded") != "true":
            raise BrokerFailed(f"Artemis refused {operation} on {resource}: {body[:300]}")
        values = json.loads(body) if body.strip() else []
        return values[0] if values else None

    def names(self, operation: str) -> list[str]:
        """Queues (`getQueueNames`) or addresses (`getAddressNames`), without the broker's own and ours."""
        found: list[str] = self.call("broker", operation)
        return [name for name in found if name != _REPLIES and not name.startswith(("$", "activemq."))]

    def purge(self) -> None:
        """Destroy every queue and address that clients made, and empty the others."""
        for queue in self.names("getQueueNames"):
            if queue in _KEPT:
                self.call(f"queue.{queue}", "removeAllMessages")
            else:
                self.call("broker", "destroyQueue", queue, True, False)
        for address in self.names("getAddressNames"):
            if address not in _KEPT:
                self.call("broker", "deleteAddress", address, True)
