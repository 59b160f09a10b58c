"""Checks the logs of killed programs of ``tests.embedded.file.modes`` against the messages left in the file.

For each receipt of a message, the log says whether it was settled: *no* (settling had not begun), *maybe* (killed in
between, or acknowledged without a confirmation, and no confirmed call followed), *certainly*. For each mode:

* a confirmed message is there, or was received and perhaps settled; in a mode that acknowledges inside ``receive``,
  each program killed in that call may have consumed one message;
* a message that was received and not settled comes again or is there, marked as redelivered;
* a message that was certainly settled does not come again;
* a transaction takes effect completely, sends and receipts, or not at all; an uncommitted message is never visible.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Life", "Receipt", "Verdict", "judge", "read"]

_NO, _MAYBE, _CERTAINLY = "no", "maybe", "certainly"


@dataclass
class Receipt:
    """One receipt of a message."""

    at: float
    name: str
    marked: bool
    settled: str = _NO


@dataclass
class _Transaction:
    sends: list[str]
    receipts: list[Receipt]
    committed: bool = False


@dataclass
class Life:
    """The log of one program until it was killed."""

    mode: str
    tried: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    receipts: list[Receipt] = field(default_factory=list)
    transactions: list[_Transaction] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    inside_receive: bool = False
    _waits: bool = False
    _latest: dict[str, Receipt] = field(default_factory=dict)
    _handed: list[Receipt] = field(default_factory=list)  # acknowledged without confirmation
    _lazy: list[Receipt] = field(default_factory=list)  # to be acknowledged later
    _before: list[Receipt] = field(default_factory=list)  # acknowledged before the current send

    def hear(self, at: float, word: str, names: list[str]) -> None:
        """Process one line of the log."""
        self.inside_receive = word == "receive"
        getattr(self, f"_on_{word}")(at, names)

    def _on_waits(self, at: float, names: list[str]) -> None:
        self._waits = True

    def _on_error(self, at: float, names: list[str]) -> None:
        self.errors.append(" ".join(names))

    def _on_receive(self, at: float, names: list[str]) -> None:
        """The call has begun; its result is unknown."""

    def _on_nothing(self, at: float, names: list[str]) -> None:
        """None came."""

    def _on_try(self, at: float, names: list[str]) -> None:
        self.tried.update(names)
        self._before = list(self._handed)

    def _on_sent(self, at: float, names: list[str]) -> None:
        """The file records acknowledgements before this send in order, so they are certain now."""
        self.confirmed.update(names)
        _mark(self._before, _CERTAINLY)

    def _on_got(self, at: float, names: list[str]) -> None:
        receipt = self._latest[names[0]] = Receipt(at, names[0], names[1] == "again")
        self.receipts.append(receipt)
        if self.mode == "auto":
            self._hand_over([receipt])
        elif self.mode == "dups":
            receipt.settled = _MAYBE
            self._lazy.append(receipt)
        elif self.mode == "auto-listener":  # the listener has returned from the one before
            returned, self._lazy = self._lazy, []
            self._hand_over(returned)

    def _on_back(self, at: float, names: list[str]) -> None:
        self._lazy += _mark([self._latest[name] for name in names], _MAYBE)

    def _on_settle(self, at: float, names: list[str]) -> None:
        _mark((self._latest[name] for name in names), _MAYBE)

    def _on_settled(self, at: float, names: list[str]) -> None:
        self._hand_over([self._latest[name] for name in names])

    def _on_commit(self, at: float, names: list[str]) -> None:
        sends = [name[1:] for name in names if name.startswith("+")]
        receipts = [self._latest[name[1:]] for name in names if name.startswith("-")]
        self.transactions.append(_Transaction(sends, _mark(receipts, _MAYBE)))

    def _on_committed(self, at: float, names: list[str]) -> None:
        transaction = self.transactions[-1]
        transaction.committed = True
        self.confirmed.update(transaction.sends)
        _mark(transaction.receipts, _CERTAINLY)

    def _on_closed(self, at: float, names: list[str]) -> None:
        _mark(self._handed + self._lazy, _CERTAINLY)
        self._handed, self._lazy, self._before, self._latest, self._waits = [], [], [], {}, False

    def _hand_over(self, receipts: list[Receipt]) -> None:
        _mark(receipts, _CERTAINLY if self._waits else _MAYBE)
        self._handed += receipts


def _mark(receipts: Iterable[Receipt], settled: str) -> list[Receipt]:
    marked = list(receipts)
    for receipt in marked:
        receipt.settled = settled
    return marked


def read(mode: str, log: Path) -> Life:
    """Read the log of one program."""
    life = Life(mode)
    for line in log.read_text().split("\n")[:-1]:
        at, word, *names = line.split()
        life.hear(float(at), word, names)
    return life


@dataclass
class Verdict:
    """The results of the check."""

    confirmed: int = 0
    received: int = 0
    settled: int = 0
    """Certainly."""
    again: int = 0
    """Redelivered messages whose settlement was in doubt."""
    most_again: int = 0
    """The most of them for one killed program."""
    swallowed: int = 0
    """Messages consumed by a program that was killed inside ``receive``."""
    doubtful: int = 0
    """Transactions whose commit was not answered."""
    mistakes: list[str] = field(default_factory=list)


def judge(lives: list[Life], left: Mapping[str, list[bool]]) -> Verdict:
    """Check all programs of one mode; ``left`` maps each message in the file to its redelivered marks."""
    verdict = Verdict()
    tried = {name for life in lives for name in life.tried}
    confirmed = {name for life in lives for name in life.confirmed}
    receipts: dict[str, list[Receipt]] = defaultdict(list)
    for receipt in sorted((one for life in lives for one in life.receipts), key=lambda one: one.at):
        receipts[receipt.name].append(receipt)
    verdict.mistakes += [f"error: {text}" for life in lives for text in life.errors]
    verdict.mistakes += [f"{name} was never sent" for name in (receipts.keys() | left.keys()) - tried]
    for name, found in receipts.items():
        verdict.mistakes += _check_receipts(name, found, left.get(name, []))
    verdict.mistakes += [f"{name} is there {len(marks)} times" for name, marks in left.items() if len(marks) > 1]
    _check_unseen(verdict, lives, confirmed - receipts.keys() - left.keys())
    _check_transactions(verdict, lives, receipts, left)
    _count(verdict, lives, receipts, left)
    verdict.confirmed = len(confirmed)
    return verdict


def _check_receipts(name: str, found: list[Receipt], left: list[bool]) -> Iterable[str]:
    """Check a message that was received at least once."""
    if any(one.settled == _CERTAINLY for one in found[:-1]) or (found[-1].settled == _CERTAINLY and left):
        yield f"{name} was settled and came again"
    if found[-1].settled == _NO and not left:
        yield f"{name} was received, not settled, and is gone"
    if not all(one.marked for one in found[1:]) or not all(left):
        yield f"{name} came again without a mark"


def _check_unseen(verdict: Verdict, lives: list[Life], lost: set[str]) -> None:
    """Check messages that were confirmed, never received and are not there."""
    killed = sum(life.inside_receive for life in lives if life.mode in ("auto", "dups"))
    verdict.swallowed = len(lost)
    if len(lost) > killed:
        verdict.mistakes.append(f"{len(lost)} lost, {killed} killed in receive: {sorted(lost)[:5]}")


def _check_transactions(
    verdict: Verdict, lives: list[Life], receipts: Mapping[str, list[Receipt]], left: Mapping[str, list[bool]]
) -> None:
    """Check that transactions are complete or absent; programs of other modes have none."""
    seen = receipts.keys() | left.keys()
    for life in lives:
        if life.mode != "transacted":
            continue
        begun = {name for one in life.transactions for name in one.sends}
        verdict.mistakes += [f"{name} was never committed, but is there" for name in (life.tried - begun) & seen]
        for one in life.transactions:
            if one.committed:
                continue
            verdict.doubtful += 1
            parts = [name in seen for name in one.sends]
            parts += [receipts[each.name][-1] is each and each.name not in left for each in one.receipts]
            if len(set(parts)) > 1:
                verdict.mistakes.append(f"a transaction is incomplete: {one}")


def _count(
    verdict: Verdict, lives: list[Life], receipts: Mapping[str, list[Receipt]], left: Mapping[str, list[bool]]
) -> None:
    again: Counter[int] = Counter()
    for number, life in enumerate(lives):
        for one in life.receipts:
            verdict.received += 1
            verdict.settled += one.settled == _CERTAINLY
            if one.settled == _MAYBE and (receipts[one.name][-1] is not one or one.name in left):
                again[number] += 1
    verdict.again = sum(again.values())
    verdict.most_again = max(again.values(), default=0)
