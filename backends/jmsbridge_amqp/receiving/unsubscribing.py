"""Deletes a durable subscription: a link with its name finds it, and closing that link deletes it.

Over a session of its own, because some brokers answer by ending the session. For the I/O thread.
"""

from typing import Any

import proton

from jmsbridge.spi import BackendError, SubscriptionRefused, SubscriptionUnknown
from jmsbridge.transport.network.diagnosis import CLOSE_FIRST
from jmsbridge.transport.network.link_life import Done
from jmsbridge_amqp.connection.amqp_link import Attached
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import Failure, attach_error
from jmsbridge_amqp.connection.terminus import OUTCOMES, symbols
from jmsbridge_amqp.connection.trial import try_link

__all__ = ["unsubscribe", "unsubscribe_by_queue"]


def unsubscribe(driver: Driver, name: str, key: str, topic: str | None, done: Done) -> None:
    """Without client id, a subscription is found only by a link with a source; ``topic`` is the source's address."""
    source = None if topic is None else _Source(topic, "topic", "shared", "global", durable=True)

    def answered(failure: Failure | None) -> None:
        done(None, None if failure is None else _error(failure, key, driver.life.broker))

    _attach(driver, name, source, answered)


def unsubscribe_by_queue(driver: Driver, name: str, key: str, topic: str, done: Done) -> None:
    """The same on Artemis, which is asked for the subscription's queue first, at an address that it does not have.

    If there is no such queue, Artemis makes it there; deleting the subscription deletes it again.
    """

    def looked(failure: Failure | None) -> None:
        if failure is None:
            missing = _error(Failure("amqp:not-found"), key, driver.life.broker)
            unsubscribe(driver, name, key, topic, lambda _, error: done(None, missing))
        elif failure.name == "amqp:not-found" and "for address" in failure.description:
            unsubscribe(driver, name, key, topic, done)
        else:
            done(None, _error(failure, key, driver.life.broker))

    _attach(driver, f"{name}|lookup", _Source(f"{topic}::{key}:global", "topic"), looked)


class _Source:
    """Where a link looks for a subscription."""

    def __init__(self, address: str, *capabilities: str, durable: bool = False) -> None:
        self.address = address
        self.capabilities = capabilities
        self.durable = durable


def _attach(driver: Driver, name: str, source: _Source | None, done: Attached) -> None:
    """Attach a link and close it."""

    def make(session: Any) -> Any:
        made = session.receiver(name)
        if source is None:
            made.source.type = proton.Terminus.UNSPECIFIED
        else:
            made.source.address = source.address
            symbols(made.source.capabilities, *source.capabilities)
            symbols(made.source.outcomes, *OUTCOMES)
            if source.durable:
                made.source.durability = proton.Terminus.DELIVERIES
                made.source.expiry_policy = proton.Terminus.EXPIRE_NEVER
        made.target.address = name
        made.snd_settle_mode = proton.Link.SND_UNSETTLED
        made.rcv_settle_mode = proton.Link.RCV_FIRST
        return made

    try_link(driver, make, done)


def _error(failure: Failure, key: str, broker: str) -> BackendError:
    what = f"unsubscribing {key!r}"
    if failure.name == "amqp:not-found":
        made = SubscriptionUnknown(f"{what}: {broker} has no durable subscription of this name for this client id")
        made.__cause__ = failure
        return made
    error = attach_error(failure, what, broker, key=True)
    if isinstance(error, SubscriptionRefused):
        return SubscriptionRefused(f"{what}: it has a consumer or unsettled messages ({failure}); {CLOSE_FIRST}")
    return error
