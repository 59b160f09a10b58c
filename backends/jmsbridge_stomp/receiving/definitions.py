"""The queues of durable and shared subscriptions on Artemis, named as its own client names them. For the I/O thread.

What defines a subscription is in the filter of its queue, as a condition that every message meets: Artemis ignores
another filter for a queue that exists, so a changed definition is found by a management message. A user without the
right to send one gets what the broker does by itself: it goes on with the queue that is there.
"""

import json
from collections.abc import Callable
from typing import Final

from jmsbridge.spi import BackendError, Interest, LinkLost, SubscriptionRefused
from jmsbridge.transport.artemis import operations
from jmsbridge.transport.artemis.operations import Reply
from jmsbridge.transport.network.link_life import DEADLINE
from jmsbridge_stomp.administration.requests import Requests
from jmsbridge_stomp.facts import LinkFacts

__all__ = ["NON_DURABLE", "definition", "prepare", "queue_names", "shared_queue"]

NON_DURABLE: Final = "nonDurable"
"""The first word in the names of queues of shared subscriptions that are not durable."""

_Prepared = Callable[[BackendError | None], None]


def definition(interest: Interest) -> str:
    """A selector that every message matches, since none has that property; empty for a subscription without any."""
    if not interest.selector and not interest.no_local:
        return ""
    wanted = f"{int(interest.no_local)} {interest.selector or ''}".replace("'", "''")
    return f"jb_definition IS NULL OR jb_definition = '{wanted}'"


def shared_queue(interest: Interest, client_id: str | None) -> str:
    """The queue of a shared subscription."""
    parts = [_escaped(part) for part in (client_id, interest.key) if part is not None]
    return ".".join(parts if interest.durable else [NON_DURABLE, *parts])


def queue_names(key: str, client_id: str | None) -> list[str]:
    """The queues that a durable subscription may have; STOMP does not escape their names, Artemis' own client does."""
    if client_id is None:
        return [_escaped(key)]
    return list(dict.fromkeys((f"{client_id}.{key}", f"{_escaped(client_id)}.{_escaped(key)}")))


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.")


def prepare(facts: LinkFacts, interest: Interest, done: _Prepared) -> None:
    """Begin the subscription afresh if it is there with another definition; SubscriptionRefused if that is in use."""
    shared = shared_queue(interest, facts.client_id) if interest.shared else ""
    queue = shared or f"{facts.client_id}.{interest.key}"

    def found(replies: list[Reply] | None, error: BaseException | None) -> None:
        rows = [] if replies is None else _rows(replies, queue)
        if isinstance(error, LinkLost):
            done(error)
        elif replies is None:
            done(None)  # without the right to ask
        elif not rows:
            create(shared)
        elif rows[0]["address"] == interest.address.name and _is_same(rows[0].get("filter") or "", interest):
            done(None)
        elif int(rows[0]["consumerCount"]):
            done(SubscriptionRefused(f"subscription {interest.key!r} has consumers and another topic or selector"))
        else:
            removal = operations.operation("broker", "destroyQueue", queue, False, False)
            Requests(facts, [removal], DEADLINE, lambda *_: create(shared))

    def create(name: str) -> None:
        if name:
            creation = operations.operation("broker", "createQueue", json.dumps(_configuration(name, interest)), True)
            Requests(facts, [creation], DEADLINE, lambda *_: done(None))
        else:
            done(None)

    Requests(facts, [operations.queues_where("name", queue)], DEADLINE, found)


def _rows(replies: list[Reply], queue: str) -> list[dict[str, str]]:
    try:
        rows = operations.rows(operations.result(replies[0], "looking at a subscription"))
    except BackendError:
        return []
    return [row for row in rows if row["name"] == queue]


def _is_same(there: str, interest: Interest) -> bool:
    """Artemis' own client writes the selector itself."""
    return there == definition(interest) or (there == interest.selector and not interest.no_local)


def _configuration(name: str, interest: Interest) -> dict[str, object]:
    """One that is not durable is deleted by the broker some time after its last consumer, if no program does it."""
    made: dict[str, object] = {
        "name": name,
        "address": interest.address.name,
        "routing-type": "MULTICAST",
        "durable": interest.durable,
        "auto-create-address": True,
        "auto-delete": not interest.durable,
    }
    if not interest.durable:
        made |= {"auto-delete-message-count": -1, "auto-delete-delay": 60_000}
    if definition(interest):
        made["filter-string"] = definition(interest)
    return made
