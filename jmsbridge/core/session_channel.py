"""The channel of one session, across reconnects.

A channel is lost with its link, or alone: then another one is opened on the same link, and other sessions are not
affected. See ``docs/decisions/channel-loss.md``.
"""

import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from jmsbridge.config.features import SEND_GROUPS
from jmsbridge.core.links.channel_deaths import ChannelDeaths
from jmsbridge.core.plan import Plan
from jmsbridge.core.receiving.incoming import Incoming
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.sending.outgoing import Outgoing
from jmsbridge.core.transaction import SessionTransactions, transactions_on
from jmsbridge.core.translate import translate
from jmsbridge.errors import IllegalStateException, JMSException
from jmsbridge.spi import (
    BackendError,
    Channel,
    ChannelLost,
    Interest,
    Link,
    LinkLost,
    Native,
    NotSupported,
    Subscription,
)

if TYPE_CHECKING:
    from jmsbridge.core.connection import ConnectionCore
    from jmsbridge.core.receiving.receiver import Receiver

__all__ = ["SessionChannel"]

log = logging.getLogger("jmsbridge.link")

_PATIENT_DEATHS = 5  # up to so many losses, the broker may still count subscriptions as the lost channel's


class SessionChannel:
    """Opens the channel, and opens it again with its subscriptions after a loss. Thread-safe.

    ``transactions`` is None unless the session is transacted. ``fail`` ends the session.
    """

    def __init__(
        self,
        connection: "ConnectionCore",
        incoming: Incoming,
        outgoing: Outgoing,
        transactions: SessionTransactions | None,
        fail: Callable[[JMSException], None],
    ) -> None:
        self._connection = connection
        self._fail = fail
        self._deaths = ChannelDeaths(connection.clock, connection.options)
        self._incoming = incoming
        self._outgoing = outgoing
        self._transactions = transactions
        self._lock = ranked(Rank.SESSION)  # guards what follows, and the set of receivers
        self._epoch = 0
        self._channel: Channel | None = None
        self._recovered: tuple[Channel, Plan, int] | None = None
        self._closed = False

    def require(self, plan: Plan) -> None:
        """UnsupportedFeature if this link does not support such a session."""
        if self._connection.options.block_on_acknowledge:
            plan.require(Native.SETTLE_CONFIRM)
        if self._transactions is not None:
            plan.require(Native.TRANSACTIONS)
            plan.require(Native.SEND_TRANSACTIONS)
        elif self._connection.options.send_confirmation == "group":
            plan.require(SEND_GROUPS)

    def require_for(self, interest: Interest, plan: Plan) -> None:
        """UnsupportedFeature if this link does not support such a consumer."""
        self._connection.temporaries.check_consumable(interest.address, plan)
        if interest.selector is not None:
            plan.require(Native.TOPIC_SELECTORS if interest.address.topic else Native.QUEUE_SELECTORS)
        if interest.no_local:
            plan.require(Native.NO_LOCAL)
        if interest.shared:
            plan.require(Native.SHARED_DURABLE if interest.durable else Native.SHARED)
        elif interest.durable:
            plan.require(Native.DURABLE)
            plan.require(Native.EXCLUSIVE_DURABLE)

    # ---- the first link, or the next one

    def open(self, join: Callable[[int], bool]) -> None:
        """Open it on the current link, and again as long as ``join``, called with the link's epoch, returns False."""
        check_in_time = self._deadline()
        while True:
            link, plan, epoch = self._connection.wait_link()
            try:
                channel = self._open_on(link, plan)
            except ChannelLost as error:
                raise translate(error) from error
            except LinkLost as lost:
                check_in_time(lost)
                self._connection.wait_known_lost(epoch)
                continue
            except BackendError as error:
                raise translate(error) from error
            self._attach(channel, plan, epoch)
            if join(epoch):
                self._connection.supervisor.tell_again(channel)
                return

    def _open_on(self, link: Link, plan: Plan) -> Channel:
        return link.channel(self._transactions is not None and plan.outcome(Native.SEND_TRANSACTIONS) == "native")

    def _attach(self, channel: Channel, plan: Plan, epoch: int) -> None:
        with self._lock:
            self._epoch = epoch
            self._channel = channel
        self._incoming.native = plan.native
        if self._transactions is not None:
            self._transactions.attach(transactions_on(channel, plan.native))
        self._outgoing.attach(channel, plan)  # last: a sender that gets the channel finds its transactions set

    def interrupted(self) -> None:
        """The link, or the channel alone, is lost (supervisor's thread)."""
        with self._lock:
            self._channel = self._recovered = None
        self._outgoing.channel.suspend()
        self._incoming.interrupted()
        # after the inboxes: deliveries handed over before that are registered, later ones see that their inbox is lost
        self._incoming.lose()

    def recover_on(self, link: Link, plan: Plan, epoch: int, patient: bool) -> None:
        """Open on a new link, without credit (supervisor's thread); raises BackendError, UnsupportedFeature."""
        self.require(plan)
        with self._lock:
            self._epoch = epoch
        channel = self._open_on(link, plan)
        try:
            self._recover_over(channel, plan, epoch, patient)
        except BackendError:
            with contextlib.suppress(BackendError):  # a half restored channel would hold messages
                channel.close()
            raise

    def _recover_over(self, channel: Channel, plan: Plan, epoch: int, patient: bool) -> None:
        self._incoming.native = plan.native
        for receiver in self._incoming.receivers:
            try:
                self.require_for(receiver.interest, plan)
            except JMSException as error:
                receiver.end(NotSupported(str(error)))  # so that receives raise it
                self._connection.report(error)
        for problem in self._incoming.resume(channel, patient):
            self._connection.report(translate(problem))
        with self._lock:
            closed = self._closed
            if not closed:
                self._recovered = (channel, plan, epoch)
        if closed:  # meanwhile: the session's close did not see this channel
            channel.close()

    def restored(self) -> None:
        """Grant credit and let senders continue (supervisor's thread)."""
        with self._lock:
            recovered, self._recovered = self._recovered, None
            if recovered is None:
                return
            self._channel = recovered[0]  # in the same step: a close finds it here or there
        self._attach(*recovered)
        if self._connection.delivery.on:
            self._incoming.start()

    # ---- a channel that is lost alone, on the supervisor's thread

    def is_on(self, channel: Channel) -> bool:
        """Whether this is the session's channel."""
        with self._lock:
            return self._channel is channel

    def remake(self, error: BackendError) -> None:
        """The channel is lost: open another one on the same link, or end the session after too many losses."""
        log.warning("a session's channel is lost: %s", error)
        self.interrupted()
        self._deaths.count()
        if self._deaths.in_a_row == 1:
            self._connection.report(translate(error))
        self._remake_later(error)

    def remake_on_next(self, error: BackendError) -> None:
        """The channel was lost while its link was being recovered: ``remake`` it once the link may be used."""
        self._connection.supervisor.submit(lambda: None if self.is_up or self._closed else self.remake(error))

    def _remake_later(self, error: BackendError) -> None:
        if self._deaths.are_too_many:
            failure = JMSException(
                f"the session has ended: its channel was lost {self._deaths.in_a_row} times in a row, last by: {error}"
            )
            failure.__cause__ = error
            self._fail(failure)
            self._connection.report(failure)
        elif pause := self._deaths.pause():
            self._connection.clock.call_later(pause, lambda: self._connection.supervisor.submit(self._remake_now))
        else:
            self._remake_now()

    def _remake_now(self) -> None:
        living = self._connection.supervisor.living(self._epoch)
        if living is None or self.is_up:  # without a link, the reconnect restores the session
            return
        link, plan = living
        try:
            self.recover_on(link, plan, self._epoch, patient=self._deaths.in_a_row < _PATIENT_DEATHS)
        except BackendError as error:
            if self._connection.supervisor.living(self._epoch) is not None:
                log.info("a session's channel could not be opened again: %s", error)
                self._incoming.interrupted()
                self._deaths.count()
                self._remake_later(error)
            return
        self.restored()

    # ---- use

    def wait_current(self) -> tuple[Channel, int]:
        """The current channel and its epoch; waits for a reconnect."""
        channel = self._outgoing.channel.wait_open()
        with self._lock:
            return channel, self._epoch

    def subscribe(self, receiver: "Receiver", check_open: Callable[[], None]) -> None:
        """Subscribe a new consumer; on the next link if this one is lost meanwhile."""
        check_in_time = self._deadline()
        while True:
            channel, epoch = self.wait_current()
            try:
                subscription = self._subscribe(channel, receiver)
                receiver.attach(subscription)
            except LinkLost as lost:
                check_in_time(lost)
                self._outgoing.channel.wait_replaced(channel, lost)
                continue
            except BackendError as error:
                raise translate(error) from error
            try:
                with self._lock:
                    check_open()
                    if epoch == self._epoch and self._channel is channel:
                        self._incoming.add(receiver)
                        return
            except JMSException:  # closed while an interrupted call went on: nothing else would close the subscription
                with contextlib.suppress(LinkLost):
                    subscription.close()
                raise
            receiver.interrupted()  # the link was lost meanwhile: subscribe again on the next one

    def _subscribe(self, channel: Channel, receiver: "Receiver") -> Subscription:
        left = self._incoming.reopen(receiver.interest)
        if left is not None and left.subscription is not None:
            receiver.inbox = left
            return left.subscription
        return channel.subscribe(receiver.wanted(self._incoming.native), receiver.inbox)

    def _deadline(self) -> Callable[[LinkLost], None]:
        """Raises the loss of a link after ``send_timeout``: perhaps each new one is lost by the same call."""
        clock = self._connection.clock
        deadline = clock.monotonic() + self._connection.options.send_timeout

        def check(lost: LinkLost) -> None:
            if clock.monotonic() >= deadline:
                raise translate(lost) from lost

        return check

    def forget(self, receiver: "Receiver") -> None:
        """A consumer is closed."""
        with self._lock:
            self._incoming.remove(receiver)

    @property
    def is_closed(self) -> bool:
        """Whether the session has closed it."""
        return self._closed

    @property
    def is_up(self) -> bool:
        """Whether there is a channel."""
        return self._channel is not None

    def close(self) -> None:
        """Close the channel, and the one that is being opened in its place, if any."""
        with self._lock:
            self._closed = True
            channels = [self._channel] if self._channel is not None else []
            if self._recovered is not None:  # the link is being replaced
                channels.append(self._recovered[0])
                self._recovered = None
        self._outgoing.channel.shut(IllegalStateException("the session is closed"))  # for another thread's calls
        for channel in channels:
            with contextlib.suppress(LinkLost):
                channel.close()
