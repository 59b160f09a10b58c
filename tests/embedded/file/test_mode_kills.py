"""Programs of every acknowledgement mode killed around every kind of call, several at a time on one file."""

import multiprocessing
import os
import random
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import Address
from tests.embedded.file.mode_verdict import Verdict, judge, read
from tests.embedded.file.modes import MODES, POINTS, work
from tests.embedded.file.worker import connect, receive

_SLOTS = 7  # programs at a time
_PATIENCE = 60.0  # seconds until the next call of a program; longer counts as stuck
_DELAYS = (0.0, 0.0005, 0.003, 0.02)  # seconds at most from the beginning of a call to the kill
_FREQUENT = ("send", "receive", "settle")
_FORKING = multiprocessing.get_context("forkserver")  # a program starts in milliseconds:
_FORKING.set_forkserver_preload(["tests.embedded.file.modes", "jmsbridge_embedded.file.link", "jmsbridge_embedded"])


class _Killing:
    """Starts programs and kills each at a random moment, until there were enough kills."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self.path = folder / "orders.db"
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.killed: Counter[str] = Counter()  # by mode
        self.points: Counter[str] = Counter()  # by the kind of call
        self.mistakes: list[str] = []
        self._draw = random.Random(seed)
        self._lock = threading.Lock()
        self._begun = 0
        self._kills = kills
        self._pause = threading.Event()

    def run(self) -> None:
        threads = [threading.Thread(target=self._slot) for _ in range(_SLOTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _slot(self) -> None:
        while not self.mistakes:
            with self._lock:
                if self._begun == self._kills:
                    return
                self._begun += 1
                number, modes = self._begun, list(MODES)
                mode = modes[number % len(modes)]
                point = self._draw.choice(POINTS)
                nth = self._draw.choice((1, 1, 2, 5, 12) if point in _FREQUENT else (1, 2))
                delay = self._draw.uniform(0.0, self._draw.choice(_DELAYS))
                seed = self._draw.randrange(1 << 30)
            if mode.endswith("-listener") and point == "undo":
                point = "settle"  # the session belongs to its listener and does not recover
            if point == "settle" and mode in ("auto", "dups"):
                point = "receive"  # the call in which these modes acknowledge
            if point == "undo" and mode == "dups":
                point = "close"
            self._live(number, mode, point, nth, delay, seed)

    def _live(self, number: int, mode: str, point: str, nth: int, delay: float, seed: int) -> None:
        log = self.logs / f"{number:04}.{mode}"
        mine, theirs = _FORKING.Pipe(duplex=False)
        program: Any = _FORKING.Process(target=work, args=(mode, str(self.path), str(log), theirs, seed))
        program.start()
        theirs.close()
        try:
            while nth:
                if not mine.poll(_PATIENCE):
                    os.kill(program.pid, signal.SIGUSR1)
                    self._pause.wait(1.0)
                    self.mistakes.append(f"stuck: {log.name}, {Path(f'{log}.stacks').read_text()}")
                    break
                nth -= mine.recv_bytes().decode() == point
            self._pause.wait(delay)
        except EOFError:
            self.mistakes.append(f"ended by itself: {log.name}")
        program.kill()
        program.join(_PATIENCE)
        mine.close()
        with self._lock:
            self.killed[mode] += 1
            self.points[point] += 1

    def judge(self) -> Mapping[str, Verdict]:
        """The results of the check, by mode."""
        link = connect(self.path)
        lives = defaultdict(list)
        for log in sorted(self.logs.iterdir()):
            mode = log.suffix[1:]
            if mode in MODES:
                lives[mode].append(read(mode, log))
        verdicts = {}
        for mode in MODES:
            left: dict[str, list[bool]] = defaultdict(list)
            for arrival in receive(link, Address(mode)):
                left[str(arrival.envelope.body)].append(arrival.redelivered)
            verdicts[mode] = judge(lives[mode], left)
        link.close()
        return verdicts


def _kill(folder: Path, kills: int) -> None:
    seed = int(os.environ.get("JMSBRIDGE_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"JMSBRIDGE_SEED={seed}")
    killing = _Killing(folder, kills, seed)
    killing.run()
    verdicts = killing.judge()
    print(f"{killing.killed.total()} kills; {dict(killing.points)}")
    for mode, verdict in verdicts.items():
        print(f"{mode}: {killing.killed[mode]} kills, {verdict}")
    assert killing.mistakes == [], f"seed {seed}"
    assert [f"{mode}: {text}" for mode, one in verdicts.items() for text in one.mistakes] == [], f"seed {seed}"
    assert all(one.received for one in verdicts.values())
    assert not [file for file in folder.iterdir() if file.name not in ("logs", "orders.db")]


@pytest.mark.timeout(240)
def test_programs_of_every_mode_killed_around_every_call(tmp_path: Path) -> None:
    _kill(tmp_path, 105)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_two_thousand_kills_in_every_mode(tmp_path: Path) -> None:
    _kill(tmp_path, 2002)
