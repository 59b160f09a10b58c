"""Finds out whether a durable subscription is shared, on brokers where only a second consumer shows it."""

from collections.abc import Callable

import msgspec

from jmsbridge.spi import BackendError, Interest, SubscriptionRefused
from jmsbridge_amqp.connection.driver import Driver
from jmsbridge_amqp.connection.errors import IN_USE, Failure, attach_error
from jmsbridge_amqp.receiving.receiver import Receiver, Source

__all__ = ["check_sharing"]


def check_sharing(
    driver: Driver, interest: Interest, source: Source, done: Callable[[BackendError | None], None]
) -> None:
    """Attach one more consumer for a moment, without credit: only a shared subscription allows it.

    ``done`` gets the error if the subscription is not as the interest wants it, or if that cannot be found out.
    """
    what = f"durable subscription {interest.key!r} of {interest.address}"
    probe = Source(
        msgspec.structs.replace(interest, shared=True), source.address, f"{source.name}|probe", source.selector
    )
    probe.is_global = source.is_global
    receiver = Receiver(driver, probe, lambda number, data: None, lambda failure: None, 0)

    def attached(failure: Failure | None) -> None:
        is_shared = failure is None
        if failure is not None and failure.name not in IN_USE:
            done(attach_error(failure, f"finding out whether {what} is shared", driver.life.broker))
            return
        made = None
        if is_shared is not interest.shared:
            now, wanted = ("shared", "unshared") if is_shared else ("unshared", "shared")
            made = SubscriptionRefused(f"{what} is {now}, not {wanted}; unsubscribe it first, or consume it as it is")
        if is_shared:
            receiver.close(lambda: done(made), keep=True, mark=False)
        else:
            done(made)

    receiver.attach(attached)
