"""The verdict on a fault run, from the ledgers alone.

A message is identified by one call of ``send``: a producer and the number of the call. A message that is sent again
after a failure keeps its key and gets a new number. The violations are

* *lost*: a call was confirmed, and its message was never processed; a receipt that was rolled back or requeued does not
  count, one whose settlement is in doubt does;
* *refused but received*: a call that was reported as refused was received;
* *duplicate without doubt*: a call was received again although it was processed, and no cut explains it; or two calls
  of one key were received although the first was not in doubt;
** *from nowhere*: a message was received whose send was never called;
* *out of order*: completion callbacks of a producer came in another order than its sends;
* *without an answer*, *answered twice*: a call does not have exactly one outcome.

A cut explains that a message comes again if its settlement may not have reached the broker: the consumer had received
fewer messages after it, up to the cut, than it may hold unacknowledged. With more, the broker must have had the
acknowledgement, or it would not have sent more. A cut after a consumer has closed its connection does not explain it.

With some brokers an acknowledgement that has succeeded is not stored yet (``Late``). Then a cut also explains that a
message comes again if it was processed shortly before, and the kill of the broker if it was processed within the time
in which the broker stores acknowledgements, even if its consumer has closed its connection since. Where the client
remembers what it has acknowledged, its process gets nothing of that again *without a mark*.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from integration.faults.ledger import MARKED, Entry, Step

__all__ = ["UNFINISHED", "Disturbance", "Late", "Verdict", "judge"]

_LOST, _WITHOUT_ANSWER = "lost", "without an answer"
UNFINISHED = {_LOST, _WITHOUT_ANSWER}
"""Violations that are none in a run that ended early."""
_GRACE = 2.0
"""Seconds after a cut during which a process may not have noticed it."""
_OUTCOMES = (Step.CONFIRMED, Step.REFUSED, Step.UNKNOWN)
_SHOWN = 20  # of each kind of broken promise
_KILL = "kill"  # the disturbance that is more than a cut

_Call = tuple[str, int]  # producer, number


class Disturbance(msgspec.Struct, frozen=True):
    """A disturbance of the network or the broker, from ``at`` to ``until``."""

    kind: str
    at: float
    until: float


class Late(msgspec.Struct, frozen=True):
    """How late acknowledgements are that have succeeded; in seconds."""

    sent: float = 0.0
    """Until they have reached the broker."""
    stored: float = 0.0
    """Until the broker has stored them."""
    remembered: bool = False
    """Whether the client knows what it has acknowledged, and marks what comes again."""


_NEVER_LATE = Late()


class Verdict(msgspec.Struct):
    """The results of the check. ``broken`` has the first violations of each kind."""

    messages: int = 0
    confirmed: int = 0
    received: int = 0
    refused: int = 0
    unknown: int = 0
    sent_twice: int = 0
    """Keys that were received from two calls, the first of them in doubt."""
    settled_in_doubt: int = 0
    """Receipts of processed messages that a cut explains."""
    not_stored: int = 0
    """Receipts of processed messages whose acknowledgements had not reached the broker, or were not stored there."""
    unmarked: int = 0
    """Redelivered messages without a mark: the broker lost the information that it had delivered them."""
    broken: dict[str, list[str]] = msgspec.field(default_factory=dict)
    counts: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return not self.counts

    def breaks(self, kind: str, text: str) -> None:
        """Record a violation."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= _SHOWN:
            self.broken.setdefault(kind, []).append(text)


class _Receipt(msgspec.Struct):
    """One receipt of a message."""

    consumer: str
    at: float
    position: int
    marked: bool
    done_at: float | None = None
    maybe: bool = False


class _Life(msgspec.Struct):
    """One consumer: when it received, how many messages may be unacknowledged, and when its connection was closed."""

    times: list[float] = msgspec.field(default_factory=list)
    holds: int = 0
    closed_at: float = math.inf


def judge(
    producers: Mapping[str, Sequence[Entry]],
    consumers: Mapping[str, Sequence[Entry]],
    disturbances: Iterable[Disturbance],
    late: Late = _NEVER_LATE,
) -> Verdict:
    """The verdict; ``producers`` and ``consumers`` are ledgers by name."""
    verdict = Verdict()
    keys: dict[_Call, str] = {}
    outcomes: dict[_Call, Step] = {}
    for name, entries in producers.items():
        _judge_calls(name, entries, keys, outcomes, verdict)
    receipts: dict[_Call, list[_Receipt]] = defaultdict(list)
    lives = {name: _collect(name, entries, receipts) for name, entries in consumers.items()}
    _judge_receipts(keys, outcomes, receipts, verdict)
    explains = _Explaining(sorted(disturbances, key=lambda one: one.at), lives, late)
    for call, found in receipts.items():
        _judge_again(f"{keys.get(call, '?')} call {call[1]}", sorted(found, key=lambda one: one.at), explains, verdict)
    verdict.messages = len(set(keys.values()))
    verdict.received = sum(map(len, receipts.values()))
    return verdict


def _judge_calls(
    name: str, entries: Sequence[Entry], keys: dict[_Call, str], outcomes: dict[_Call, Step], verdict: Verdict
) -> None:
    last = -1
    for entry in entries:
        call = (name, entry.number)
        if entry.step is Step.SENT:
            keys[call] = entry.key
        elif entry.step in _OUTCOMES:
            if call in outcomes:
                verdict.breaks("answered twice", f"{entry.key} call {entry.number}")
            if entry.number < last:
                verdict.breaks("out of order", f"{entry.key} call {entry.number} was called back after call {last}")
            last = max(last, entry.number)
            outcomes[call] = entry.step
    for call, key in keys.items():
        if call[0] == name and call not in outcomes:
            verdict.breaks(_WITHOUT_ANSWER, f"{key} call {call[1]}")
    counted = Counter(step for call, step in outcomes.items() if call[0] == name)
    verdict.refused += counted[Step.REFUSED]
    verdict.unknown += counted[Step.UNKNOWN]


def _collect(name: str, entries: Sequence[Entry], receipts: dict[_Call, list[_Receipt]]) -> _Life:
    """Add the receipts of one consumer."""
    life = _Life()
    latest: dict[_Call, _Receipt] = {}
    for entry in entries:
        call = (entry.key.partition(":")[0], entry.number)
        if entry.step is Step.HOLDS:
            life.holds = entry.number
        elif entry.step is Step.CLOSED:
            life.closed_at = entry.at
        elif entry.step is Step.GOT:
            latest[call] = _Receipt(name, entry.at, len(life.times), entry.detail == MARKED)
            receipts[call].append(latest[call])
            life.times.append(entry.at)
        elif entry.step is Step.DONE:
            latest[call].done_at = entry.at
        elif entry.step is Step.MAYBE:
            latest[call].maybe = True
    return life


def _judge_receipts(
    keys: Mapping[_Call, str],
    outcomes: Mapping[_Call, Step],
    receipts: Mapping[_Call, Sequence[_Receipt]],
    verdict: Verdict,
) -> None:
    """Compare receipts with sends: lost, refused but received, from nowhere, and calls of the same key."""
    calls: dict[str, list[_Call]] = defaultdict(list)
    for call, key in keys.items():
        calls[key].append(call)
    for call in receipts:
        if call not in keys:
            verdict.breaks("from nowhere", f"{call[0]} call {call[1]}")
    for key, made in calls.items():
        there = [call for call in made if any(one.done_at or one.maybe for one in receipts.get(call, ()))]
        certain = [call for call in made if outcomes.get(call) is Step.CONFIRMED]
        verdict.confirmed += bool(certain)
        for call in certain:
            if call not in there:
                verdict.breaks(_LOST, f"{key} call {call[1]}")
        for call in made:
            if outcomes.get(call) is Step.REFUSED and call in receipts:
                verdict.breaks("refused but received", f"{key} call {call[1]}")
        twice = [call for call in made if call in receipts]
        if len(twice) > 1:
            verdict.sent_twice += 1
            if any(outcomes.get(call) is Step.CONFIRMED for call in twice[:-1]):
                verdict.breaks("duplicate without doubt", f"{key}: calls {[number for _, number in twice]}")


class _Explaining:
    """Decides whether a cut explains a redelivery."""

    def __init__(self, disturbances: Sequence[Disturbance], lives: Mapping[str, _Life], late: Late) -> None:
        self._disturbances = disturbances
        self._lives = lives
        self._late = late
        self.remembered = late.remembered

    def __call__(self, first: _Receipt, again: _Receipt) -> bool:
        life = self._lives[first.consumer]
        for one in self._disturbances:
            if one.at > min(again.at, life.closed_at) or one.until + _GRACE < first.at:
                continue
            if bisect_right(life.times, one.at) - first.position <= life.holds:
                return True
        return False

    def by_lateness(self, first: _Receipt, again: _Receipt) -> bool:
        """Whether the broker may not have stored the acknowledgement of the first receipt."""
        assert first.done_at is not None
        closed_at = self._lives[first.consumer].closed_at
        for one in self._disturbances:
            if one.at > again.at or one.until + _GRACE < first.done_at:
                continue
            if one.at <= min(first.done_at + self._late.sent, closed_at):
                return True
            if one.kind == _KILL and one.at <= first.done_at + self._late.stored:
                return True
        return False


def _judge_again(what: str, found: Sequence[_Receipt], explains: _Explaining, verdict: Verdict) -> None:
    """Check the receipts of one call in time order: each further one needs a reason."""
    for first, again in pairwise(found):
        verdict.unmarked += not again.marked
        if first.done_at is None:
            continue  # requeued, rolled back or in doubt: it may come again
        where = f"{what}: {first.consumer} at {first.at:.3f}, then {again.consumer} at {again.at:.3f}"
        in_doubt = explains(first, again)
        if not in_doubt and not explains.by_lateness(first, again):
            verdict.breaks("duplicate without doubt", where)
        elif explains.remembered and again.consumer == first.consumer and not again.marked:
            verdict.breaks("without a mark", where)
        elif in_doubt:
            verdict.settled_in_doubt += 1
        else:
            verdict.not_stored += 1
