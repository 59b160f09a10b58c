"""Deletes a durable subscription. For the I/O thread.

On Artemis that is the deletion of its queue by management messages. Without the right to send these, a user deletes a
subscription of a client id by UNSUBSCRIBE, and does not learn whether there was one.
"""

import time

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressInUse,
    BackendError,
    LinkLost,
    SendRefused,
    SubscriptionRefused,
    SubscriptionUnknown,
)
from jmsbridge.transport.artemis import operations
from jmsbridge.transport.artemis.operations import Reply
from jmsbridge.transport.network.link_life import DEADLINE, Done, ignored
from jmsbridge_stomp.administration.requests import Requests
from jmsbridge_stomp.connection.errors import Refusal, answer_of, connect_error, fails_alone
from jmsbridge_stomp.connection.stomp_socket import Answered, StompSocket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.receiving.definitions import queue_names
from jmsbridge_stomp.receiving.receiver import name_of

__all__ = ["unsubscribe"]


def unsubscribe(facts: LinkFacts, key: str, address: Address | None, done: Done) -> None:
    """Delete one of this link's client id, or of none; ``done`` gets SubscriptionUnknown if there is none."""

    def answered(error: Refusal | BackendError | None) -> None:
        done(None, answer_of(error, f"unsubscribing {key!r}", facts.sockets.life.broker, SubscriptionUnknown))

    if facts.product.managed:
        _delete_queue(facts, key, address, answered)
    else:
        facts.main.ask("UNSUBSCRIBE", [("id", f"gone-{key}"), (name_of(facts.product), key)], answered)


def _delete_queue(facts: LinkFacts, key: str, address: Address | None, answered: Answered) -> None:
    asked = [operations.queues_where("name", name) for name in queue_names(key, facts.client_id)]

    def found(replies: list[Reply] | None, error: BaseException | None) -> None:
        if replies is not None:
            try:
                queues = _subscriptions(replies, address)
            except BackendError as other:
                answered(other)
            else:
                destroy(queues)
        elif isinstance(error, SendRefused) and facts.client_id is None:
            needed = f"the user needs the permission 'manage' for {operations.ADDRESS} (broker.xml)"
            answered(AccessDenied(f"unsubscribing {key!r}, a subscription without a client id: {needed} ({error})"))
        elif isinstance(error, LinkLost) or facts.client_id is None:
            answered(error if isinstance(error, BackendError) else BackendError(str(error)))
        else:
            _delete_by_frame(facts, key, answered)

    def destroy(queues: list[str]) -> None:
        if queues:
            gone = [operations.operation("broker", "destroyQueue", name, False, False) for name in queues]
            Requests(facts, gone, DEADLINE, destroyed)
        else:
            answered(SubscriptionUnknown(f"{facts.sockets.life.broker} has no durable subscription {key!r}"))

    def destroyed(replies: list[Reply] | None, error: BaseException | None) -> None:
        try:
            for reply in replies or ():
                operations.result(reply, f"unsubscribing {key!r}")
        except AddressInUse as in_use:
            error = SubscriptionRefused(f"durable subscription {key!r} has a consumer; close that one first ({in_use})")
        except BackendError as other:
            error = other
        answered(error if error is None or isinstance(error, BackendError) else BackendError(str(error)))

    Requests(facts, asked, DEADLINE, found)


def _subscriptions(replies: list[Reply], address: Address | None) -> list[str]:
    found = []
    for reply in replies:
        for row in operations.rows(operations.result(reply, "looking at a subscription")):
            if row["routingType"] == "MULTICAST" and (address is None or row["address"] == address.name):
                found.append(row["name"])
    return found


def _delete_by_frame(facts: LinkFacts, key: str, answered: Answered) -> None:
    """Delete it over a socket that nobody else needs, since a refusal ends it."""
    life = facts.sockets.life
    socket = facts.new_socket(answered)

    def connected(_: object, error: BaseException | None) -> None:
        if error is None:
            socket.ask(
                "UNSUBSCRIBE", [(name_of(facts.product), key)], lambda refusal: _close(socket, answered, refusal)
            )
        elif isinstance(error, Refusal):
            answered(error)
        elif fails_alone(error):
            answered(connect_error(error, life.endpoint))
        else:
            life.die(connect_error(error, life.endpoint))

    socket.connect(facts.client_id, time.monotonic() + life.endpoint.connect_timeout, connected)


def _close(socket: StompSocket, answered: Answered, error: Refusal | BackendError | None) -> None:
    """Answer, and close the socket; one that the broker ends is closed already."""
    answered(error)
    socket.close(ignored)
