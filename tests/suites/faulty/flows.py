"""Faults of sending, arriving and settling that do not depend on a capability."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from jmsbridge.spi import Arrival, BackendError, Envelope, Outcome, SendCancelled, Ticket
from tests.suites.faulty.layer import Answer, Fault, LayerChannel, LayerLink, LayerSubscription, Outcomes

__all__ = [
    "AcceptedReturns",
    "ArrivesAfterClose",
    "ArrivesAfterDrain",
    "ArrivesOutOfOrder",
    "BeginsRedelivered",
    "CancelsWhatIsOnItsWay",
    "CreditReplaces",
    "DrainKeepsCredit",
    "DropsAfterTwenty",
    "DropsWhatChannelsHeld",
    "DropsWhatLinksHeld",
    "FailsLate",
    "GivesOneTooMany",
    "HidesFromThoseWhoWait",
    "KeepsTopics",
    "KeepsWhatChannelsHeld",
    "LosesHeaders",
    "OvertakesUnconfirmed",
    "RequeuedFailed",
    "RetiredGoesOn",
    "SendsOutOfOrder",
    "SettlesInReverse",
    "SettlesTheFirst",
    "StartsWithCredit",
    "Unflagged",
]


class SendsOutOfOrder(Fault):
    """Every seventh send is overtaken by the next one."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        channel.count += 1
        if channel.count % 7 == 0:
            channel.kept.append((envelope, ticket))
            return
        super().send(channel, envelope, ticket)
        while channel.kept:
            super().send(channel, *channel.kept.pop())


class CancelsWhatIsOnItsWay(Fault):
    """A send that is already on its way to the broker is reported as cancelled."""

    slow = True
    cancels = True

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if ticket is None:
            super().send(channel, envelope, None)
            return
        channel.kept.append(ticket)

        def answer(tell: Callable[[], None]) -> None:
            if ticket in channel.kept:
                channel.kept.remove(ticket)
                tell()

        told = Answer(lambda: answer(ticket.succeed), lambda error: answer(lambda: ticket.fail(error)))
        super().send(channel, envelope, told)

    def cancel(self, channel: LayerChannel, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            if ticket in channel.kept:
                channel.kept.remove(ticket)
                ticket.fail(SendCancelled("taken back"))


class OvertakesUnconfirmed(Fault):
    """A send without a ticket waits for the next one with a ticket, and comes after it."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if ticket is None:
            channel.kept.append(envelope)
            return
        super().send(channel, envelope, ticket)
        while channel.kept:
            super().send(channel, channel.kept.pop(0), None)


class ArrivesOutOfOrder(Fault):
    """Every fifth arrival is overtaken by the next one."""

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        subscription.count += 1
        if subscription.count % 5 == 0:
            subscription.kept.append(arrival)
            return
        super().put(subscription, arrival)
        while subscription.kept:
            super().put(subscription, subscription.kept.pop())


class GivesOneTooMany(Fault):
    """Every grant allows one arrival more."""

    def grant(self, subscription: LayerSubscription, count: int) -> None:
        super().grant(subscription, count + 1)


class StartsWithCredit(Fault):
    """A subscription has credit before the first grant."""

    def subscribe(self, channel: LayerChannel, interest: Any, inbox: LayerSubscription) -> Any:
        made = super().subscribe(channel, interest, inbox)
        made.grant(1)
        return made


class CreditReplaces(Fault):
    """A grant replaces the remaining credit instead of adding to it."""

    def grant(self, subscription: LayerSubscription, count: int) -> None:
        subscription.inner.drain(Answer(lambda: None, lambda error: None))
        super().grant(subscription, count)


class ArrivesAfterDrain(Fault):
    """``drain`` is answered while a fetch is under way."""

    slow = True

    def drain(self, subscription: LayerSubscription, ticket: Ticket) -> None:
        super().drain(subscription, Answer(lambda: None, lambda error: None))
        if subscription.channel.link.dead:
            super().drain(subscription, ticket)
        else:
            ticket.succeed()


class DrainKeepsCredit(Fault):
    """``drain`` leaves the credit as it is."""

    def drain(self, subscription: LayerSubscription, ticket: Ticket) -> None:
        self.check(subscription.channel.link)
        ticket.succeed()


class ArrivesAfterClose(Fault):
    """A closed subscription continues to deliver."""

    def close_subscription(self, subscription: LayerSubscription) -> None:
        subscription.inner.grant(5)


class RetiredGoesOn(Fault):
    """A retired subscription still gets messages."""

    def retire(self, subscription: LayerSubscription) -> None:
        subscription.inner.grant(5)


class SettlesInReverse(Fault):
    """Several tokens are settled one by one, the last one first."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        for token in reversed(tokens[1:]):
            super().settle(subscription, [token], outcome, None, failures)
        super().settle(subscription, tokens[:1], outcome, ticket, failures)


class SettlesTheFirst(Fault):
    """Of several tokens only the first is settled."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        super().settle(subscription, tokens[:1], outcome, ticket, failures)


class AcceptedReturns(Outcomes):
    """Accepted messages are delivered again."""

    taken_for: ClassVar = {Outcome.ACCEPTED: (Outcome.RELEASED, None)}


class Unflagged(Outcomes):
    """Failed messages are delivered again unmarked."""

    taken_for: ClassVar = {Outcome.FAILED: (Outcome.RELEASED, None)}


class FailsLate(Fault):
    """Failed messages return only when their subscription is closed."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        if outcome is Outcome.FAILED:
            subscription.kept.append((tokens, failures))
            tokens = []
        super().settle(subscription, tokens, outcome, ticket, failures)

    def close_subscription(self, subscription: LayerSubscription) -> None:
        while subscription.kept:
            tokens, failures = subscription.kept.pop(0)
            subscription.inner.settle(tokens, Outcome.FAILED, None, failures)
        super().close_subscription(subscription)


class RequeuedFailed(Fault):
    """REQUEUED counts as a failure."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        if outcome is Outcome.REQUEUED:
            outcome, failures = Outcome.FAILED, failures + 1
        super().settle(subscription, tokens, outcome, ticket, failures)


class BeginsRedelivered(Fault):
    """The first delivery is marked as a redelivery."""

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        flagged = msgspec.structs.replace(arrival, redelivered=True, delivery_count=max(2, arrival.delivery_count))
        super().put(subscription, flagged)


class LosesHeaders(Fault):
    """The correlation id does not arrive."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, msgspec.structs.replace(envelope, correlation_id=None), ticket)


class DropsAfterTwenty(Fault):
    """A message is dropped when it is returned for the twentieth time."""

    def __init__(self) -> None:
        self.back: dict[str | None, int] = {}

    def dropped(self, arrival: Arrival) -> bool:
        name = arrival.envelope.message_id
        self.back[name] = self.back.get(name, 0) + 1
        return self.back[name] >= 20

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        subscription.kept.append(arrival)
        super().put(subscription, arrival)

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        if outcome in (Outcome.FAILED, Outcome.RELEASED):
            for arrival in subscription.kept:
                if arrival.token in tokens and self.dropped(arrival):
                    subscription.inner.settle([arrival.token], Outcome.ACCEPTED)
        super().settle(subscription, tokens, outcome, ticket, failures)


class DropsWhatChannelsHeld(DropsAfterTwenty):
    """A message that closed channels held twenty times is dropped."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        subscription.kept = [each for each in subscription.kept if each.token not in tokens]
        Fault.settle(self, subscription, tokens, outcome, ticket, failures)

    def close_channel(self, channel: LayerChannel) -> None:
        self.drop(channel)
        super().close_channel(channel)

    def drop(self, channel: LayerChannel) -> None:
        for subscription in channel.subscriptions:
            for arrival in subscription.kept:
                if self.dropped(arrival) and not channel.link.dead:
                    subscription.inner.settle([arrival.token], Outcome.ACCEPTED)
            subscription.kept = []


class DropsWhatLinksHeld(DropsWhatChannelsHeld):
    """A message that closed links held twenty times is dropped."""

    def close_channel(self, channel: LayerChannel) -> None:
        Fault.close_channel(self, channel)

    def close_link(self, link: LayerLink) -> None:
        for channel in link.channels:
            self.drop(channel)
        super().close_link(link)


class KeepsWhatChannelsHeld(Fault):
    """The unsettled messages of a closed channel are requeued only when its link ends."""

    def close_channel(self, channel: LayerChannel) -> None:
        for subscription in channel.subscriptions:
            if not channel.link.dead:
                subscription.inner.drain(Answer(lambda: None, lambda error: None))


class HidesFromThoseWhoWait(Fault):
    """Messages of a lost link go only to consumers that are created after the loss."""

    def __init__(self) -> None:
        self.holders: dict[Any, LayerLink] = {}

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        holder = self.holders.get(arrival.token)
        if holder is not None and holder is not subscription.channel.link and not holder.dead:
            return  # it is on its way from a link that is being lost
        self.holders[arrival.token] = subscription.channel.link
        super().put(subscription, arrival)

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        for token in tokens:
            self.holders.pop(token, None)
        super().settle(subscription, tokens, outcome, ticket, failures)

    def lost(self, link: LayerLink, error: BackendError) -> None:
        super().lost(link, error)
        self.holders = {token: holder for token, holder in self.holders.items() if holder is not link}


class KeepsTopics(Fault):
    """Published messages are stored even without subscriptions."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if envelope.address.topic and not channel.link.dead:
            kept = msgspec.structs.replace(envelope.address, topic=False, temporary=False)
            super().send(channel, msgspec.structs.replace(envelope, address=kept), None)
        super().send(channel, envelope, ticket)
