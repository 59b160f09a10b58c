"""Faults of transactions whose sends nobody waits for."""

from typing import Any

from jmsbridge.spi import BackendError, Channel, Envelope, Ticket
from tests.suites.faulty.layer import Answer, Fault, LayerChannel, LayerLink

__all__ = ["CommitForgetsAfterRefusal", "CommitOvertakesSends", "RefusedCommitTakesEffect", "TransactionOfTheLink"]


class CommitOvertakesSends(Fault):
    """The last send before a commit is part of the next transaction."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if not channel.transacted or channel.link.dead:
            super().send(channel, envelope, ticket)
            return
        self.flush(channel)
        channel.kept.append(envelope)
        if ticket is not None:
            ticket.succeed()

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        super().commit(channel, ticket)
        self.flush(channel)

    def flush(self, channel: LayerChannel) -> None:
        while channel.kept:
            channel.inner.send(channel.kept.pop(), None)


class CommitForgetsAfterRefusal(Fault):
    """A commit succeeds after a refused send, and nothing of its transaction takes effect."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        def refused(error: BackendError) -> None:
            channel.kept.append(error)
            if ticket is not None:
                ticket.fail(error)

        succeed: Any = ticket.succeed if ticket is not None else lambda: None
        super().send(channel, envelope, Answer(succeed, refused))

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        if channel.transacted and channel.kept:
            channel.kept.clear()
            channel.inner.rollback(ticket)
        else:
            super().commit(channel, ticket)


class RefusedCommitTakesEffect(Fault):
    """The sends of a refused commit are visible, but for the one that was refused."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if channel.transacted:
            channel.kept.append(envelope)
        super().send(channel, envelope, ticket)

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        sent, channel.kept = channel.kept, []

        def refused(error: BackendError) -> None:
            plain = channel.link.inner.channel(False)
            for envelope in sent:
                plain.send(envelope, Answer(lambda: None, lambda error: None))
            ticket.fail(error)

        super().commit(channel, Answer(ticket.succeed, refused))


class TransactionOfTheLink(Fault):
    """A transaction takes in what is sent on other channels of its link."""

    def __init__(self) -> None:
        self.begun: dict[LayerLink, Channel] = {}

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if channel.transacted:
            self.begun[channel.link] = channel.inner
        self.begun.get(channel.link, channel.inner).send(envelope, ticket)

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        self.begun.pop(channel.link, None)
        super().commit(channel, ticket)

    def rollback(self, channel: LayerChannel, ticket: Ticket) -> None:
        self.begun.pop(channel.link, None)
        super().rollback(channel, ticket)
