"""The faulty variants: which promise each breaks, and which cases of the suite must detect it."""

from typing import NamedTuple

from jmsbridge.spi import (
    Arrival,
    Cancels,
    Channel,
    Envelope,
    Interest,
    Link,
    LinkEvents,
    Native,
    Outcome,
    Retires,
    Subscription,
)
from jmsbridge.testing.promises import Promise
from tests.suites.faulty import answers, capabilities, channels, flows, transactions
from tests.suites.faulty.layer import Fault

__all__ = ["TABLE", "Row"]


class Row(NamedTuple):
    """A variant; each of these cases (``test_contract_…``, with its parameter in brackets) fails with it."""

    fault: type[Fault]
    broken: Promise
    cases: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the variant."""
        return self.fault.__name__


def _row(fault: type[Fault], broken: Promise, *cases: str) -> Row:
    return Row(fault, broken, tuple(f"test_contract_{case}" for case in cases))


_PROMISES = (
    _row(answers.AnswersTwice, 1, "send_answers_every_ticket_once"),
    _row(answers.AcceptsEmptySilently, 1, "settle_without_tokens_is_answered"),
    _row(answers.ForgetsTickets, 1, "link_loss_answers_every_open_ticket", "answer_to_a_send_is_true"),
    _row(
        answers.NeverInDoubt,
        1,
        "answer_to_a_send_is_true[in]",
        "answer_to_a_settlement_is_true[in]",
        "answer_to_a_commit_is_true[in]",
    ),
    _row(answers.AlwaysInDoubt, 7, "link_loss_fails_calls_with_tickets", "loss_makes_verbs_fail_fast"),
    _row(answers.SendsAnsweredEarly, 1, "answer_to_a_send_is_true[out]"),
    _row(answers.SettlesAnsweredEarly, 1, "answer_to_a_settlement_is_true[out]"),
    _row(answers.CommitsAnsweredEarly, 1, "answer_to_a_commit_is_true[out]"),
    _row(flows.SendsOutOfOrder, 2, "send_keeps_order"),
    _row(flows.OvertakesUnconfirmed, 2, "send_keeps_order"),
    _row(flows.ArrivesOutOfOrder, 3, "receive_keeps_order"),
    _row(flows.GivesOneTooMany, 3, "receive_credit_adds_up"),
    _row(flows.StartsWithCredit, 3, "receive_starts_without_credit"),
    _row(flows.CreditReplaces, 3, "receive_credit_adds_up_beforehand"),
    _row(flows.ArrivesAfterDrain, 4, "receive_drain_waits_for_what_is_on_its_way"),
    _row(flows.DrainKeepsCredit, 4, "receive_drain_ends_the_credit"),
    _row(flows.ArrivesAfterClose, 4, "receive_close_ends_delivery"),
    _row(flows.SettlesInReverse, 5, "settle_several_reach_a_waiting_consumer_in_order"),
    _row(flows.SettlesTheFirst, 5, "settle_accepted_is_gone"),
    _row(answers.LostTwice, 6, "link_loss_is_reported_once"),
    _row(answers.LosesInSilence, 6, "link_loss_is_reported_once"),
    _row(answers.LostOnClose, Link.close, "link_close_is_idempotent_and_silent"),
    _row(answers.LostBeforeTickets, 6, "answer_comes_before_the_loss"),
    _row(answers.Reconnects, 7, "link_loss_fails_blocking_calls"),
    _row(answers.SilentAfterDeath, 7, "link_loss_fails_calls_with_tickets"),
    _row(answers.FailsOtherwise, 7, "link_loss_fails_calls_with_tickets"),
    _row(answers.HangsAfterDeath, 7, "loss_makes_verbs_fail_fast"),
    _row(answers.ThreadsStay, 8, "link_end_ends_its_threads"),
    _row(answers.NamesThreadsFreely, 8, "link_threads_are_daemon_and_named"),
    _row(answers.ThreadsAreNotDaemon, 8, "link_threads_are_daemon_and_named"),
    _row(answers.ClosesTheOthers, 9, "links_are_independent"),
    _row(answers.RaisesOSError, 10, "connect_failure_has_a_cause"),
    _row(answers.DropsTheCause, 10, "connect_failure_has_a_cause"),
    _row(flows.DropsAfterTwenty, 11, "returned_by_consumers_is_kept"),
    _row(flows.DropsWhatChannelsHeld, 11, "returned_by_closed_channels_is_kept"),
    _row(flows.DropsWhatLinksHeld, 11, "returned_by_closed_links_is_kept"),
    _row(channels.ChannelLostTwice, 6, "loss_of_one_channel"),
    _row(channels.ChannelLostInSilence, LinkEvents.channel_lost, "loss_of_one_channel"),
    _row(channels.ChannelTakesItsLink, LinkEvents.channel_lost, "loss_of_one_channel"),
    _row(channels.ChannelTakesTheOthers, LinkEvents.channel_lost, "loss_of_one_channel"),
    _row(channels.ChannelKeepsItsMessages, LinkEvents.channel_lost, "loss_of_one_channel"),
    _row(channels.LostChannelIsSilent, 7, "loss_of_one_channel"),
    _row(channels.LostChannelInDoubt, 7, "loss_of_one_channel"),
    _row(channels.LostChannelIsALostLink, 7, "loss_of_one_channel"),
    _row(flows.HidesFromThoseWhoWait, 11, "loss_requeues_to_a_waiting_consumer"),
)

_VERBS = (
    _row(flows.KeepsTopics, Channel.send, "topic_stores_only_what_subscriptions_want"),
    _row(capabilities.KeyIgnoresClient, Interest, "durable_key_belongs_to_its_client_id"),
    _row(flows.CancelsWhatIsOnItsWay, Cancels.cancel, "send_cancelled_is_not_sent"),
    _row(flows.LosesHeaders, Envelope, "send_carries_headers"),
    _row(flows.BeginsRedelivered, Arrival, "receive_first_delivery_is_unflagged"),
    _row(flows.KeepsWhatChannelsHeld, Channel.close, "settle_channel_close_requeues"),
    _row(flows.RetiredGoesOn, Retires.retire, "retired_gets_nothing_more"),
    _row(flows.AcceptedReturns, Outcome.ACCEPTED, "settle_accepted_is_gone"),
    _row(flows.Unflagged, Outcome.FAILED, "settle_failed_is_delivered_again"),
    _row(flows.RequeuedFailed, Outcome.REQUEUED, "returned_by_requeue_is_counted"),
    _row(capabilities.FailuresIgnored, Subscription.settle, "settle_failures_are_counted"),
    _row(capabilities.RejectedReturns, Outcome.REJECTED, "settle_rejected_does_not_return"),
    _row(capabilities.UnsubscribeKeeps, Link.unsubscribe, "unsubscribe_deletes_the_subscription"),
    _row(capabilities.TemporariesUnprotected, Link.delete, "temporary_is_protected_by_consumers"),
    _row(capabilities.RollbackForgetsTokens, Channel.rollback, "tx_rollback_leaves_tokens_unsettled"),
    _row(capabilities.RollbackKeepsSends, Channel.rollback, "tx_rollback_drops_sends"),
    _row(capabilities.CloseCommits, Channel.close, "tx_close_rolls_back"),
    _row(transactions.CommitOvertakesSends, Channel.commit, "tx_commit_includes_unanswered_sends"),
    _row(transactions.CommitForgetsAfterRefusal, Channel.commit, "tx_with_a_refused_send"),
    _row(transactions.RefusedCommitTakesEffect, Channel.commit, "tx_refused_commit_leaves_tokens_unsettled"),
    _row(transactions.TransactionOfTheLink, Channel.commit, "tx_belongs_to_its_channel"),
)

_CAPABILITIES = (
    _row(answers.SendsAnsweredEarly, Native.SEND_CONFIRM, "answer_to_a_send_is_true[out]"),
    _row(answers.SettlesAnsweredEarly, Native.SETTLE_CONFIRM, "answer_to_a_settlement_is_true[out]"),
    _row(capabilities.PropertiesAreText, Native.TYPED_PROPERTIES, "send_carries_property_types"),
    _row(capabilities.BodiesAreText, Native.BODY_KINDS, "send_carries_body_kinds"),
    _row(capabilities.EmptyIsNone, Native.BODY_KINDS, "send_carries_empty_bodies"),
    _row(capabilities.VisibleBeforeCommit, Native.SEND_TRANSACTIONS, "tx_commit_shows_sends_in_order"),
    _row(capabilities.AcceptsThenSends, Native.TRANSACTIONS, "answer_to_a_commit_is_true[in]"),
    _row(capabilities.SendsThenAccepts, Native.TRANSACTIONS, "commit_is_atomic_once_visible"),
    _row(
        capabilities.AcceptsOutsideTransactions,
        Native.TRANSACTIONS,
        "tx_rollback_leaves_tokens_unsettled",
        "tx_close_rolls_back",
    ),
    _row(capabilities.TopicSelectorsIgnored, Native.TOPIC_SELECTORS, "topic_selector", "topic_selector_knows_types"),
    _row(capabilities.QueueSelectorsIgnored, Native.QUEUE_SELECTORS, "receive_queue_selector_leaves_the_rest"),
    _row(capabilities.BrowsersConsume, Native.BROWSE, "receive_browsing_takes_nothing"),
    _row(capabilities.DurableForgets, Native.DURABLE, "durable_keeps_messages_without_a_consumer"),
    _row(capabilities.SharedGivenToAll, Native.SHARED, "shared_consumers_divide_messages"),
    _row(capabilities.SharedOutlives, Native.SHARED, "shared_ends_with_its_last_consumer"),
    _row(capabilities.SharedDurableForgets, Native.SHARED_DURABLE, "shared_durable_keeps_messages_without_a_consumer"),
    _row(capabilities.IdsAreShared, Native.CLIENT_ID, "client_id_is_exclusive"),
    _row(capabilities.DurableIsShared, Native.EXCLUSIVE_DURABLE, "durable_unshared_is_exclusive"),
    _row(capabilities.GroupsIgnored, Native.GROUPS, "receive_groups_stay_together"),
    _row(capabilities.TemporariesForAll, Native.TEMPORARY, "temporary_belongs_to_its_link"),
    _row(capabilities.TemporariesOutlive, Native.TEMPORARY, "loss_empties_temporary_destinations[False]"),
    _row(capabilities.HidesDelays, Native.DELAY, "send_delays"),
    _row(capabilities.PriorityReversed, Native.PRIORITY, "send_prefers_high_priority"),
    _row(capabilities.ExpiryIgnored, Native.EXPIRY, "send_drops_what_has_expired"),
    _row(capabilities.CountsWrongly, Native.DELIVERY_COUNT, "settle_failures_are_counted"),
    _row(capabilities.OnceIsTwice, Native.DUPLICATE_DETECTION, "send_confirms_and_drops_a_duplicate"),
    _row(flows.ArrivesAfterDrain, Native.DRAIN, "receive_drain_brings_what_is_there"),
    _row(flows.GivesOneTooMany, Native.CREDIT, "receive_credit_adds_up"),
    _row(flows.FailsLate, Native.FAIL, "settle_failed_goes_to_others_at_once"),
    _row(flows.FailsLate, Native.RETURN, "settle_returned_goes_to_others[Outcome.FAILED]"),
    _row(capabilities.ReleasedCounts, Native.RELEASE, "settle_released_is_unmarked"),
    _row(flows.DropsAfterTwenty, Native.UNLIMITED_REQUEUE, "settle_failed_is_never_dropped"),
    _row(capabilities.RejectedDropped, Native.REJECT, "rejected_goes_to_the_queue_of_the_interest"),
    _row(capabilities.NoLocalIgnored, Native.NO_LOCAL, "topic_no_local"),
)

TABLE: tuple[Row, ...] = (*_PROMISES, *_VERBS, *_CAPABILITIES)
"""A variant that breaks two promises has two rows."""
