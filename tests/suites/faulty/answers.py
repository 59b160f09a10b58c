"""Faults of tickets, and of links that are opened, lost and closed."""

import threading
import time
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import (
    BackendError,
    Channel,
    ConnectFailed,
    Endpoint,
    Envelope,
    Link,
    LinkLost,
    Outcome,
    Ticket,
)
from tests.suites.faulty.layer import Answer, Fault, LayerBackend, LayerChannel, LayerLink, LayerSubscription

__all__ = [
    "AcceptsEmptySilently",
    "AlwaysInDoubt",
    "AnswersTwice",
    "ClosesTheOthers",
    "CommitsAnsweredEarly",
    "DropsTheCause",
    "FailsOtherwise",
    "ForgetsTickets",
    "HangsAfterDeath",
    "LosesInSilence",
    "LostBeforeTickets",
    "LostOnClose",
    "LostTwice",
    "NamesThreadsFreely",
    "NeverInDoubt",
    "RaisesOSError",
    "Reconnects",
    "SendsAnsweredEarly",
    "SettlesAnsweredEarly",
    "SilentAfterDeath",
    "ThreadsAreNotDaemon",
    "ThreadsStay",
]


class AnswersTwice(Fault):
    """A confirmed send is confirmed once more."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, envelope, ticket)
        if ticket is not None:
            ticket.succeed()


class AcceptsEmptySilently(Fault):
    """``settle`` without tokens is not answered."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        if tokens:
            super().settle(subscription, tokens, outcome, ticket, failures)


class _ChangesFailures(Fault):
    """Changes the error that tickets get when their link is lost."""

    slow = True

    def changed(self, ticket: Ticket | None, channel: LayerChannel) -> Ticket | None:
        return None if ticket is None else Answer(ticket.succeed, lambda error: self.fail(ticket, error, channel.link))

    def fail(self, ticket: Ticket, error: BackendError, link: LayerLink) -> None:
        raise NotImplementedError

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, envelope, self.changed(ticket, channel))

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        super().settle(subscription, tokens, outcome, self.changed(ticket, subscription.channel), failures)

    def drain(self, subscription: LayerSubscription, ticket: Ticket) -> None:
        super().drain(subscription, self.changed(ticket, subscription.channel) or ticket)

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        super().commit(channel, self.changed(ticket, channel) or ticket)


class NeverInDoubt(_ChangesFailures):
    """An answer that is in doubt is reported as a failure."""

    def fail(self, ticket: Ticket, error: BackendError, link: LayerLink) -> None:
        error.in_doubt = False
        ticket.fail(error)


class AlwaysInDoubt(_ChangesFailures):
    """A call that certainly had no effect is reported as in doubt."""

    def fail(self, ticket: Ticket, error: BackendError, link: LayerLink) -> None:
        error.in_doubt = True
        ticket.fail(error)


class ForgetsTickets(_ChangesFailures):
    """Open tickets are not answered when their link is lost."""

    def fail(self, ticket: Ticket, error: BackendError, link: LayerLink) -> None:
        if not isinstance(error, LinkLost):
            ticket.fail(error)


class LostBeforeTickets(_ChangesFailures):
    """``lost`` is called before the open tickets are answered."""

    def __init__(self) -> None:
        self.late: list[Callable[[], None]] = []

    def fail(self, ticket: Ticket, error: BackendError, link: LayerLink) -> None:
        if link.dead:
            ticket.fail(error)
        else:
            self.late.append(lambda: ticket.fail(error))

    def lost(self, link: LayerLink, error: BackendError) -> None:
        super().lost(link, error)
        while self.late:
            self.late.pop()()


class SendsAnsweredEarly(Fault):
    """A send is confirmed once it was passed to the I/O thread."""

    slow = True

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, envelope, None)
        if ticket is not None:
            ticket.succeed()


class SettlesAnsweredEarly(Fault):
    """A settlement is confirmed once it was passed to the I/O thread."""

    slow = True

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        super().settle(subscription, tokens, outcome, None, failures)
        if ticket is not None:
            ticket.succeed()


class CommitsAnsweredEarly(Fault):
    """A commit is confirmed once it was passed to the I/O thread."""

    slow = True

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        super().commit(channel, Answer(lambda: None, lambda error: None))
        ticket.succeed()


class LostTwice(Fault):
    """``lost`` is called twice."""

    def lost(self, link: LayerLink, error: BackendError) -> None:
        super().lost(link, error)
        super().lost(link, error)


class LosesInSilence(Fault):
    """``lost`` is not called."""

    def lost(self, link: LayerLink, error: BackendError) -> None:
        return


class LostOnClose(Fault):
    """``lost`` is called for a link that was closed."""

    def close_link(self, link: LayerLink) -> None:
        super().close_link(link)
        if not link.dead:
            link.lost(LinkLost("closed"))


class Reconnects(Fault):
    """A lost link silently opens another one."""

    def channel(self, link: LayerLink, transacted: bool) -> Channel:
        try:
            return super().channel(link, transacted)
        except LinkLost:
            link.inner = super().open(*self.opened_with, link)
            return super().channel(link, transacted)

    def open(self, backend: LayerBackend, endpoint: Endpoint, options: Any, link: LayerLink) -> Link:
        self.opened_with = (backend, endpoint, options)
        return super().open(backend, endpoint, options, link)


class SilentAfterDeath(Fault):
    """A send without a ticket does not raise after the link was lost."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if ticket is not None or not channel.link.dead:
            super().send(channel, envelope, ticket)


class FailsOtherwise(Fault):
    """After the loss a ticket gets another error than LinkLost."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if ticket is not None and channel.link.dead:
            ticket.fail(ConnectFailed("the broker is unavailable"))
        else:
            super().send(channel, envelope, ticket)


class HangsAfterDeath(Fault):
    """Calls on a lost link do not fail at once."""

    def channel(self, link: LayerLink, transacted: bool) -> Channel:
        if link.dead:
            time.sleep(1.2)  # sleep: this is the fault
        return super().channel(link, transacted)


class _StartsThreads(Fault):
    name = "jmsbridge-faulty-io"
    daemon = True

    def __init__(self) -> None:
        self.end = threading.Event()

    def opened(self, link: LayerLink) -> None:
        threading.Thread(target=lambda: self.end.wait(20), name=self.name, daemon=self.daemon).start()


class ThreadsStay(_StartsThreads):
    """The thread of a link outlives it."""

    def close_link(self, link: LayerLink) -> None:
        super().close_link(link)


class NamesThreadsFreely(_StartsThreads):
    """The name of a thread does not say to what it belongs."""

    name = "worker"


class ThreadsAreNotDaemon(_StartsThreads):
    """A thread keeps the process from ending."""

    daemon = False


class ClosesTheOthers(Fault):
    """Closing a link closes the others of its backend."""

    def __init__(self) -> None:
        self.links: list[LayerLink] = []

    def opened(self, link: LayerLink) -> None:
        self.links.append(link)

    def close_link(self, link: LayerLink) -> None:
        for each in self.links:
            each.inner.close()


class _Unreachable(Fault):
    slow = True

    def open(self, backend: LayerBackend, endpoint: Endpoint, options: Any, link: LayerLink) -> Link:
        try:
            return super().open(backend, endpoint, options, link)
        except ConnectFailed as error:
            self.refuse(error)
            raise

    def refuse(self, error: ConnectFailed) -> None:
        raise NotImplementedError


class RaisesOSError(_Unreachable):
    """A network error is raised as OSError."""

    def refuse(self, error: ConnectFailed) -> None:
        raise error.__cause__ or error


class DropsTheCause(_Unreachable):
    """The error has no cause."""

    def refuse(self, error: ConnectFailed) -> None:
        raise ConnectFailed(str(error)) from None
