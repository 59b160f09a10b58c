"""Deletes a durable subscription. For the I/O thread.

Artemis answers the deletion of a subscription that does not exist with a receipt, so it is asked before, by a
management message. Without the right to send one, a user does not learn that there was none.
"""

import json
import time
import uuid
from collections.abc import Callable

from jmsbridge.spi import BackendError, SubscriptionUnknown
from jmsbridge.transport.network.link_life import Done
from jmsbridge_stomp.connection.errors import Refusal, connect_error, refused
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.protocol.frames import Frame, encode
from jmsbridge_stomp.receiving.receiver import name_of

__all__ = ["unsubscribe"]

_MANAGEMENT = "activemq.management"


def unsubscribe(facts: LinkFacts, key: str, done: Done) -> None:
    """Delete the subscription of this link's client id; ``done`` gets SubscriptionUnknown if there is none."""

    def answered(error: Refusal | BackendError | None) -> None:
        if isinstance(error, Refusal):
            error = refused(error, f"unsubscribing {key!r}", facts.sockets.life.broker, SubscriptionUnknown)
        done(None, error)

    headers = [(name_of(facts.product), key)]
    if facts.product.shares_socket:
        facts.main.ask("UNSUBSCRIBE", [("id", f"gone-{key}"), *headers], answered)
    else:
        _find(facts, key, answered, lambda: _delete(facts, headers, answered))


def _delete(
    facts: LinkFacts, headers: list[tuple[str, str]], answered: Callable[[Refusal | BackendError | None], None]
) -> None:
    """Delete it over a socket that nobody else needs, since a refusal ends it."""

    def opened(socket: StompSocket) -> None:
        socket.ask("UNSUBSCRIBE", headers, lambda error: _close(socket, lambda: answered(error)))

    _open(facts, answered, opened, answered)


def _find(
    facts: LinkFacts, key: str, answered: Callable[[Refusal | BackendError | None], None], found: Callable[[], None]
) -> None:
    """Ask whether it exists; ``found`` is called if so, and if the broker does not tell."""
    client_id = facts.client_id or ""
    names = list(dict.fromkeys((f"{client_id}.{key}", f"{_escaped(client_id)}.{_escaped(key)}")))
    replies = f"jmsbridge.answers.{uuid.uuid4()}"

    def opened(socket: StompSocket) -> None:
        def ask() -> None:
            asked = {"_AMQ_ResourceName": f"queue.{names.pop()}", "_AMQ_Attribute": "messageCount", "reply-to": replies}
            socket.send(_request(asked, []), None)

        def told(frame: Frame) -> None:
            exists = frame.headers.get("_AMQ_OperationSucceeded") == "true"
            if not exists and names:
                ask()
                return
            unknown = SubscriptionUnknown(f"{facts.sockets.life.broker} has no durable subscription {key!r}")
            end = found if exists else lambda: answered(unknown)
            socket.subscriptions.clear()
            socket.ask("UNSUBSCRIBE", [("id", "answers")], lambda _: None)
            asked = {"_AMQ_ResourceName": "broker", "_AMQ_OperationName": "destroyQueue"}
            socket.send(_request(asked, [replies, True, True]), lambda _: _close(socket, end))

        socket.subscriptions["answers"] = told
        wanted = [("id", "answers"), ("destination", replies), ("subscription-type", "ANYCAST"), ("ack", "auto")]
        socket.tell("SUBSCRIBE", wanted)
        ask()

    _open(facts, lambda _: found(), opened, answered)


def _request(headers: dict[str, str], arguments: list[object]) -> bytes:
    sent = [("destination", _MANAGEMENT), *headers.items()]
    return encode("SEND", sent, json.dumps(arguments).encode()).partition(b"\n")[2]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.")


def _open(
    facts: LinkFacts,
    ended: Callable[[Refusal], None],
    opened: Callable[[StompSocket], None],
    answered: Callable[[Refusal | BackendError | None], None],
) -> None:
    life = facts.sockets.life
    socket = facts.new_socket(ended)

    def connected(_: object, error: BaseException | None) -> None:
        if error is None:
            opened(socket)
        elif isinstance(error, Refusal):
            answered(error)
        else:
            life.die(connect_error(error, life.endpoint))

    socket.connect(facts.client_id, time.monotonic() + life.endpoint.connect_timeout, connected)


def _close(socket: StompSocket, then: Callable[[], None]) -> None:
    """Close the socket; one that the broker ends is closed already."""
    then()
    socket.close(lambda: None)
