"""The check of killed programs finds each broken promise, tested with forged logs."""

import pytest

from tests.embedded.file.mode_verdict import Life, Verdict, judge


def _life(mode: str, *lines: str, at: float = 0.0) -> Life:
    life = Life(mode)
    for number, line in enumerate(lines):
        word, *names = line.split()
        life.hear(at + number, word, names)
    return life


def _judge(*lives: Life, **left: bool) -> Verdict:
    return judge(list(lives), {name: [mark] for name, mark in left.items()})


_SENT = ("try m", "sent m")


@pytest.mark.parametrize("mode", ["auto", "dups"])
def test_a_program_killed_in_receive_may_take_one_message_along(mode: str) -> None:
    sender = _life(mode, *_SENT, "try n", "sent n")
    inside = _life(mode, "receive")
    assert _judge(sender, inside, n=False).mistakes == []
    assert _judge(sender, inside, n=False).swallowed == 1
    assert _judge(sender, inside).mistakes == ["2 lost, 1 killed in receive: ['m', 'n']"]
    assert _judge(sender, _life(mode, "receive", "nothing"), n=False).mistakes != []


@pytest.mark.parametrize("mode", ["auto-listener", "dups-listener", "client", "individual", "transacted"])
def test_a_program_killed_elsewhere_may_not_take_a_message_along(mode: str) -> None:
    sent = ("try m", "commit +m", "committed +m") if mode == "transacted" else _SENT
    assert _judge(_life(mode, *sent, "receive"), m=False).mistakes == []
    assert _judge(_life(mode, *sent, "receive")).mistakes == ["1 lost, 0 killed in receive: ['m']"]


@pytest.mark.parametrize("mode", ["auto-listener", "dups-listener", "client", "individual"])
def test_a_received_unsettled_message_must_come_again(mode: str) -> None:
    life = _life(mode, *_SENT, "receive", "got m first")
    assert _judge(life, m=True).mistakes == []
    assert _judge(life, _life(mode, "got m again", at=10.0), m=True).mistakes == []
    assert _judge(life).mistakes == ["m was received, not settled, and is gone"]
    assert _judge(life, m=False).mistakes == ["m came again without a mark"]
    assert _judge(life, _life(mode, "got m first", at=10.0), m=True).mistakes == ["m came again without a mark"]


@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        ("auto", ("waits", "receive", "got m first")),
        ("auto", ("receive", "got m first", "try n", "sent n")),
        ("auto", ("receive", "got m first", "closed")),
        ("auto-listener", ("got m first", "back m", "got n first", "try o", "sent o")),
        ("auto-listener", ("got m first", "back m", "closed")),
        ("dups", ("receive", "got m first", "closed")),
        ("dups-listener", ("got m first", "back m", "closed")),
        ("client", ("waits", "got m first", "settle m", "settled m")),
        ("individual", ("got m first", "settle m", "settled m", "try n", "sent n")),
        ("transacted", ("got m first", "commit -m", "committed -m")),
    ],
)
def test_a_settled_message_must_not_come_again(mode: str, lines: tuple[str, ...]) -> None:
    others = [_life(mode, "try n", "try o", *_SENT)]
    if mode == "transacted":
        others = [_life(mode, "try m", "commit +m", "committed +m")]
    again = "m was settled and came again"
    left = {name: True for name in ("n", "o") if f"sent {name}" in lines or f"got {name} first" in lines}
    assert _judge(*others, _life(mode, *lines), **left).mistakes == []
    assert _judge(*others, _life(mode, *lines), m=True, **left).mistakes == [again]
    later = _life(mode, "got m again", "settle m" if mode in ("client", "individual") else "nothing", at=20.0)
    assert again in _judge(*others, _life(mode, *lines), later, **left).mistakes


@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        ("auto", ("receive", "got m first", "receive")),
        ("auto-listener", ("got m first", "back m")),
        ("dups", ("waits", "receive", "got m first", "try n", "sent n")),
        ("client", ("waits", "got m first", "settle m")),
        ("individual", ("got m first", "settle m", "settled m")),
    ],
)
def test_a_settlement_in_doubt_may_have_been_or_not(mode: str, lines: tuple[str, ...]) -> None:
    lives = _life(mode, *_SENT), _life(mode, *lines)
    left = {"n": False} if "sent n" in lines else {}
    assert _judge(*lives, **left).mistakes == []
    verdict = _judge(*lives, m=True, **left)
    assert verdict.mistakes == []
    assert (verdict.again, verdict.most_again) == (1, 1)


def test_a_transaction_in_doubt_must_be_whole_or_absent() -> None:
    life = _life("transacted", "try a", "try b", "got m first", "commit +a +b -m")
    sender = _life("transacted", "try m", "commit +m", "committed +m")
    assert _judge(sender, life, a=False, b=False).mistakes == []
    assert _judge(sender, life, m=True).mistakes == []
    assert _judge(sender, life, m=True).doubtful == 1
    for left in ({"a": False}, {"a": False, "b": False, "m": True}, {"a": False, "m": True}, {}):
        assert len(_judge(sender, life, **left).mistakes) == 1


def test_an_uncommitted_message_must_not_be_visible() -> None:
    life = _life("transacted", "try a", "got m first", "closed")
    sender = _life("transacted", "try m", "commit +m", "committed +m")
    assert _judge(sender, life, m=True).mistakes == []
    assert _judge(sender, life, m=True, a=False).mistakes == ["a was never committed, but is there"]


def test_unknown_and_duplicate_messages_and_errors_are_found() -> None:
    assert _judge(_life("client"), m=False).mistakes == ["m was never sent"]
    assert judge([_life("client", *_SENT)], {"m": [False, False]}).mistakes == ["m is there 2 times"]
    assert _judge(_life("client", "error ConnectError no lock")).mistakes == ["error: ConnectError no lock"]
