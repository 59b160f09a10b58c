"""What the verbs do inside a transaction."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from jmsbridge.spi import BackendError, LinkLost, Outcome, SendRefused, Ticket, TransactionRolledBack
from jmsbridge_embedded.file.batch import Batch, Operation
from jmsbridge_embedded.file.disk.entries import Packed
from jmsbridge_embedded.file.token import Token

if TYPE_CHECKING:
    from jmsbridge_embedded.file.browser import FileBrowser
    from jmsbridge_embedded.file.channel import FileChannel
    from jmsbridge_embedded.file.consumer import FileConsumer
    from jmsbridge_embedded.file.link import FileLink

__all__ = ["Browse", "Call", "Commit", "Drain", "End", "Grant", "Rollback", "Send", "Settle", "Woken"]

_log = logging.getLogger("jmsbridge.embedded")
_T = TypeVar("_T")


class Send:
    """Channel.send outside a transaction."""

    __slots__ = ("_link", "_packed", "_ticket", "lazy", "size", "sync")

    def __init__(self, link: "FileLink", packed: Packed, ticket: Ticket | None) -> None:
        self.sync = ticket is not None and packed.envelope.persistent
        self.lazy = False
        self.size = len(packed.body)
        self._link = link
        self._packed = packed
        self._ticket = ticket

    def run(self, batch: Batch) -> None:
        """Send."""
        if self._link.lost is not None:
            raise LinkLost(self._link.lost)
        batch.publish(self._packed, self._link)
        if self._ticket is not None:
            batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        """Say so to whoever asked."""
        if self._ticket is not None:
            self._ticket.fail(error)
        else:
            _log.debug("a send without confirmation was refused: %s", error)


class Settle:
    """Subscription.settle."""

    __slots__ = ("_consumer", "_failures", "_outcome", "_ticket", "_tokens", "lazy", "size", "sync")

    def __init__(
        self, consumer: "FileConsumer", tokens: Sequence[Token], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        self.sync = ticket is not None
        self.lazy = ticket is None and outcome is Outcome.ACCEPTED
        self.size = 64
        self._consumer = consumer
        self._tokens = tokens
        self._outcome = outcome
        self._ticket = ticket
        self._failures = failures

    def run(self, batch: Batch) -> None:
        """Take these out of the consumer's hands."""
        consumer = self._consumer
        if consumer.ended:
            raise LinkLost(consumer.lost or "the subscription was closed")
        held, accepted = consumer.held, consumer.channel.accepted
        mine = {token.id: token for token in self._tokens if token.id in held}
        if self._outcome is Outcome.ACCEPTED and accepted is not None:
            before = dict(accepted)
            batch.on_undo(lambda: consumer.channel.restore(before))
            accepted.update((number, (token, consumer)) for number, token in mine.items())
        else:
            self._release(batch, mine)
        if self._ticket is not None:
            batch.effects.append(self._ticket.succeed)

    def _release(self, batch: Batch, mine: dict[int, Token]) -> None:
        consumer, accepted = self._consumer, self._consumer.channel.accepted
        for number in mine:
            del consumer.held[number]
        batch.on_undo(lambda: consumer.held.update(mine))
        taken = {number: accepted.pop(number) for number in mine if number in accepted} if accepted else {}
        if accepted is not None and taken:
            batch.on_undo(lambda: accepted.update(taken))
        if self._outcome is Outcome.ACCEPTED:
            batch.entries.forget(mine)
        elif self._outcome is Outcome.REJECTED:
            for token in mine.values():
                consumer.reject(batch, token, token.count + self._failures)
            batch.entries.forget(mine)
        else:
            failures = 0 if self._outcome is Outcome.RELEASED else self._failures
            consumer.give_back(batch, mine.values(), failures + (self._outcome is Outcome.REQUEUED), failures)

    def fail(self, error: BackendError) -> None:
        """The consumer holds them still."""
        if self._ticket is not None:
            self._ticket.fail(error)
        else:
            _log.warning("a settlement was not recorded, the messages will come again: %s", error)


class Grant:
    """Subscription.grant."""

    __slots__ = ("_consumer", "_count", "lazy", "size", "sync")

    def __init__(self, consumer: "FileConsumer", count: int) -> None:
        self.sync = False
        self.lazy = False
        self.size = 64
        self._consumer = consumer
        self._count = count

    def run(self, batch: Batch) -> None:
        """More may come."""
        consumer = self._consumer
        local = batch.store.dispatcher.locals.get(consumer.line.id)
        if local is None or consumer.id not in local.consumers:
            return  # it has ended, or was retired
        batch.touch(consumer.line.id)
        if not consumer.credit:
            local.ring.append(consumer)
        consumer.credit += self._count
        batch.hungry.add(consumer.line.id)

    def fail(self, error: BackendError) -> None:
        """Nothing comes, and the link says why when it is dead; otherwise it is granted at the next chance."""
        self._consumer.owed += self._count


class Drain:
    """Subscription.drain."""

    __slots__ = ("_consumer", "_ticket", "lazy", "size", "sync")

    def __init__(self, consumer: "FileConsumer", ticket: Ticket) -> None:
        self.sync = False
        self.lazy = False
        self.size = 64
        self._consumer = consumer
        self._ticket = ticket

    def run(self, batch: Batch) -> None:
        """What is there comes, then no more."""
        consumer = self._consumer
        if consumer.ended:
            raise LinkLost(consumer.lost or "the subscription was closed")
        line = consumer.line.id
        if consumer.credit and not batch.store.dispatcher.dispatch(batch, line):
            batch.again.append(self)
            return
        local = batch.store.dispatcher.locals.get(line)
        if local is not None:
            batch.touch(line)
            local.pause(consumer)
        batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        """Say so."""
        self._ticket.fail(error)


class Commit:
    """Channel.commit."""

    def __init__(self, channel: "FileChannel", sends: list[Packed], ticket: Ticket) -> None:
        self.sync = True
        self.lazy = False
        self.size = sum(len(packed.body) for packed in sends)
        self._channel = channel
        self._sends = sends
        self._ticket = ticket

    def run(self, batch: Batch) -> None:
        """All of it, in one transaction with whatever else is in it."""
        channel, accepted = self._channel, self._channel.accepted
        if channel.ended or accepted is None:
            raise LinkLost(channel.lost or "the channel was closed")
        for packed in self._sends:
            batch.check(packed, channel.link)
        batch.check_room(channel.link, len(self._sends))
        before = dict(accepted)
        for number, (_, consumer) in before.items():
            consumer.held.pop(number, None)
        accepted.clear()
        batch.on_undo(lambda: channel.unaccept(before))
        batch.entries.forget(before)
        for packed in self._sends:
            batch.publish(packed, channel.link)
        batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        """It is rolled back."""
        if isinstance(error, LinkLost):
            self._ticket.fail(error)
            return
        made = TransactionRolledBack(f"the transaction was rolled back: {error}")
        made.__cause__ = error
        self._channel.store.submit(Rollback(self._channel, _Failing(self._ticket, made)))


class _Failing:
    """A ticket that is answered with an error in any case."""

    def __init__(self, ticket: Ticket, error: BackendError) -> None:
        self._ticket = ticket
        self._error = error

    def succeed(self) -> None:
        self._ticket.fail(self._error)

    def fail(self, error: BackendError) -> None:
        self._ticket.fail(error if isinstance(error, LinkLost) else self._error)


class Rollback:
    """Channel.rollback: accepted tokens are unsettled again, or go back where their consumer is gone."""

    def __init__(self, channel: "FileChannel", ticket: Ticket) -> None:
        self.sync = False
        self.lazy = False
        self.size = 64
        self._channel = channel
        self._ticket = ticket

    def run(self, batch: Batch) -> None:
        """Forget what was accepted."""
        channel, accepted = self._channel, self._channel.accepted
        if channel.ended or accepted is None:
            raise LinkLost(channel.lost or "the channel was closed")
        before = dict(accepted)
        accepted.clear()
        batch.on_undo(lambda: channel.restore(before))
        back: dict[FileConsumer, list[Token]] = {}
        for token, consumer in before.values():
            if consumer.ended:
                back.setdefault(consumer, []).append(token)
        for consumer, tokens in back.items():
            consumer.give_back(batch, tokens, 1, 0)
        batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        """Say so."""
        self._ticket.fail(error)


class Browse:
    """A browser's grant or drain: a look at the next messages, which takes none."""

    __slots__ = ("_browser", "_left", "_ticket", "lazy", "size", "sync")

    def __init__(self, browser: "FileBrowser", count: int, ticket: Ticket | None = None) -> None:
        self.sync = False
        self.lazy = False
        self.size = 64
        self._browser = browser
        self._left = count
        self._ticket = ticket

    def run(self, batch: Batch) -> None:
        """Show the next ones."""
        browser = self._browser
        if browser.lost is not None:
            raise LinkLost(browser.lost)
        if browser.turn is not None and browser.turn is not self:
            batch.again.append(self)  # an earlier one goes on first
            return
        left, more = browser.show(batch, self._left)
        if more:
            browser.turn, self._left = self, left
            batch.again.append(self)
            return
        browser.turn = None
        if self._ticket is not None:
            batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        """Say so."""
        if self._ticket is not None:
            self._ticket.fail(error)


class Woken:
    """Another process made something available on these lines."""

    def __init__(self, lines: Sequence[int]) -> None:
        self.sync = False
        self.lazy = False
        self.size = 64
        self._lines = lines

    def run(self, batch: Batch) -> None:
        """Look there."""
        batch.hungry.update(self._lines)

    def fail(self, error: BackendError) -> None:
        """Housekeeping looks again."""
        _log.debug("nothing was claimed: %s", error)


class Call(Generic[_T]):
    """Something that a caller waits for."""

    def __init__(self, act: Callable[[Batch], _T], *, sync: bool = False) -> None:
        self.sync = sync
        self.lazy = False
        self.size = 64
        self.future: Future[_T] = Future()
        self._act = act

    def run(self, batch: Batch) -> None:
        """Do it, unless nobody waits any more."""
        if self.future.cancelled():
            return
        result = self._act(batch)
        batch.effects.append(lambda: self._answer(result))

    def _answer(self, result: _T) -> None:
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_result(result)

    def fail(self, error: BackendError) -> None:
        """Raise it where the caller waits."""
        if self.future.set_running_or_notify_cancel():
            if isinstance(error, SendRefused):
                error = BackendError(str(error))
            self.future.set_exception(error)


class End(Call[None]):
    """Something that comes to its end, in memory at once, in the file perhaps later."""

    def __init__(self, act: Callable[[Batch], None], later: Callable[[Operation], None]) -> None:
        super().__init__(act)
        self._later = later
        self._failed = False

    @property
    def is_done(self) -> bool:
        """Whether the file knows of it."""
        return self.future.done() and not self._failed

    def run(self, batch: Batch) -> None:
        """Do it; perhaps once more, when it could not be done before."""
        super().run(batch)
        batch.effects.append(self._succeed)

    def _succeed(self) -> None:
        self._failed = False

    def fail(self, error: BackendError) -> None:
        """The caller need not wait until there is room on the disk again."""
        if not isinstance(error, LinkLost):
            self._failed = True
            _log.warning("something is closed, but not yet in the file: %s", error)
            self._later(self)
        self._answer(None)
