"""Faults of channels that are lost alone, while their link goes on."""

from typing import Any

from jmsbridge.spi import BackendError, ChannelLost, Envelope, LinkLost, Outcome, Ticket
from tests.suites.faulty.layer import Answer, Fault, LayerChannel, LayerSubscription

__all__ = [
    "ChannelKeepsItsMessages",
    "ChannelLostInSilence",
    "ChannelLostTwice",
    "ChannelTakesItsLink",
    "ChannelTakesTheOthers",
    "LostChannelInDoubt",
    "LostChannelIsALostLink",
    "LostChannelIsSilent",
]


class _LosesChannels(Fault):
    """Above the sample, which can lose a channel."""

    loses_channels = True


class ChannelLostTwice(_LosesChannels):
    """The loss is reported twice."""

    def channel_lost(self, channel: LayerChannel, error: BackendError) -> None:
        super().channel_lost(channel, error)
        super().channel_lost(channel, error)


class ChannelLostInSilence(_LosesChannels):
    """The loss is not reported; its verbs fail."""

    def channel_lost(self, channel: LayerChannel, error: BackendError) -> None:
        pass


class ChannelTakesItsLink(_LosesChannels):
    """The loss of a channel is reported as that of its link."""

    def channel_lost(self, channel: LayerChannel, error: BackendError) -> None:
        super().channel_lost(channel, error)
        channel.link.events.lost(LinkLost(str(error)))


class ChannelTakesTheOthers(_LosesChannels):
    """The other channels of its link end, too."""

    def channel_lost(self, channel: LayerChannel, error: BackendError) -> None:
        for other in channel.link.channels:
            if other is not channel:
                other.inner.close()
        super().channel_lost(channel, error)


class ChannelKeepsItsMessages(_LosesChannels):
    """What a lost channel held does not return to the broker."""

    def channel_lost(self, channel: LayerChannel, error: BackendError) -> None:
        for subscription in channel.subscriptions:
            taker = channel.link.inner.channel(False).subscribe(subscription.interest, _Nowhere())
            taker.grant(len(subscription.kept))
        super().channel_lost(channel, error)

    def put(self, subscription: LayerSubscription, arrival: Any) -> None:
        subscription.kept.append(arrival)
        super().put(subscription, arrival)


class _Nowhere:
    """An inbox without a reader."""

    def put(self, arrival: Any) -> None:
        """Held for ever."""

    def put_again(self, arrival: Any) -> None:
        """Not again."""


class _FailsOtherwise(_LosesChannels):
    """The verbs with a ticket fail in another way once the channel is lost."""

    def fail(self, ticket: Ticket, error: BackendError) -> None:
        raise NotImplementedError

    def _changed(self, ticket: Ticket | None) -> Ticket | None:
        def fail(error: BackendError) -> None:
            assert ticket is not None
            if isinstance(error, ChannelLost):
                self.fail(ticket, error)
            else:
                ticket.fail(error)

        return None if ticket is None else Answer(ticket.succeed, fail)

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, envelope, self._changed(ticket))

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        super().settle(subscription, tokens, outcome, self._changed(ticket), failures)


class LostChannelIsSilent(_FailsOtherwise):
    """Tickets of a lost channel are not answered."""

    def fail(self, ticket: Ticket, error: BackendError) -> None:
        pass


class LostChannelInDoubt(_FailsOtherwise):
    """What is asked of a lost channel is reported as in doubt, although nothing was sent."""

    def fail(self, ticket: Ticket, error: BackendError) -> None:
        ticket.fail(ChannelLost(str(error), in_doubt=True))


class LostChannelIsALostLink(_FailsOtherwise):
    """Verbs of a lost channel say that the link is lost."""

    def fail(self, ticket: Ticket, error: BackendError) -> None:
        ticket.fail(LinkLost(str(error)))
