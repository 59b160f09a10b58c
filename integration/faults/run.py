"""Carries out a fault run: starts the processes, disturbs them, waits until all is received, and checks the result."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

import jmsbridge
from integration.faults import disturbances
from integration.faults.brokers import RESTART_FIRST, late
from integration.faults.ledger import Entry, Reader, Step
from integration.faults.process import Settings, ask_to_die, consume
from integration.faults.verdict import UNFINISHED, Disturbance, Verdict, judge
from integration.lab.broker import Broker
from integration.lab.starting import start
from jmsbridge.testing.proxy import FaultProxy

__all__ = ["FaultRunError", "Plan", "Report", "run"]

_ROOT = Path(__file__).resolve().parents[2]
_TICK = 0.02


class FaultRunError(RuntimeError):
    """The run could not be carried out; there is no verdict."""


class Plan(msgspec.Struct, frozen=True):
    """A run. ``broker`` is a URL, or the name of a broker that the launcher starts; only such a one can be killed."""

    broker: str
    messages: int = 10_000
    cuts: int = 10
    kills: int = 0
    seed: int = 0
    producers: tuple[str, ...] = ("async", "async", "sync", "transacted")
    consumers: tuple[str, ...] = ("listener", "dups_ok", "client", "transacted")
    topic: bool = False
    """A topic with one durable subscription that all consumers share, instead of a queue."""
    options: str = ""
    """Further options for every URL, in the form of a query."""
    patience: float = 90.0
    """Seconds without any progress after which the run ends unfinished."""
    restarts: int = 0
    """How often all consumers are closed and replaced by others."""
    scheme: str | None = None
    """The scheme of the URLs of a broker that the launcher starts; None for its first one."""
    deaths: int = 0
    """How often a process is killed among those of consumers in the role ``processes``."""


class Report(msgspec.Struct):
    """A run, its disturbances, and the verdict."""

    plan: Plan
    seconds: float
    disturbances: list[Disturbance]
    verdict: Verdict
    failures: list[str]
    """Processes that failed, and work that was not finished."""
    restarts: int = 0
    """How often all consumers were closed and replaced."""
    ended_early: bool = False
    """Whether a process failed, which ended the run."""

    @property
    def ok(self) -> bool:
        """Whether everything was finished and every promise kept."""
        return self.verdict.ok and not self.failures

    @property
    def has_broken_promises(self) -> bool:
        """Whether a promise was broken; a run that ended early had no time for all answers and receipts."""
        return bool(self.verdict.counts.keys() - (UNFINISHED if self.ended_early else set()))


def run(plan: Plan, folder: Path, say: Callable[[str], None] = lambda text: None) -> Report:
    """Carry out a run; ledgers and output of its processes, and the broker's log, stay in ``folder``."""
    place = f"faults.{os.getpid()}-{plan.seed}"  # of such a queue, the lab's Artemis moves nothing to its DLQ
    with contextlib.ExitStack() as stack:
        broker = _broker(plan, folder, stack)
        url, proxy = plan.broker if broker is None else broker.url(plan.scheme), None
        with jmsbridge.connect(_with_options(url, plan)) as connection:
            consume(connection.create_session(), place, plan.topic)  # so that it exists before the first send
        if broker is not None and plan.broker in RESTART_FIRST:
            broker.restart()
        if urlsplit(url).port is not None:
            proxy = stack.enter_context(FaultProxy.to(url))
            url = proxy.through(url)
        elif plan.cuts or plan.kills:
            raise FaultRunError(f"no cut and no kill without a network: {url} has no port")
        cast = stack.enter_context(_Cast(plan, place, _with_options(url, plan), folder))
        return _Director(plan, cast, proxy, broker, say).direct()


def _with_options(url: str, plan: Plan) -> str:
    return url + ("&" if "?" in url else "?") + plan.options if plan.options else url


def _broker(plan: Plan, folder: Path, stack: contextlib.ExitStack) -> Broker | None:
    """The broker that this run starts; None for a URL."""
    if ":" in plan.broker:
        if plan.kills:
            raise FaultRunError("only a broker that this run started can be killed: give its name, not a URL")
        return None
    broker = stack.enter_context(start(plan.broker))
    stack.callback(lambda: (folder / "broker.log").write_text(broker.log()))
    return broker


class _Cast:
    """The processes of a run by name; ``consumers`` are the current ones, ``readers`` read the ledgers of all."""

    def __init__(self, plan: Plan, place: str, url: str, folder: Path) -> None:
        self.producers: dict[str, subprocess.Popen[bytes]] = {}
        self.consumers: dict[str, subprocess.Popen[bytes]] = {}
        self.consuming: set[str] = set()
        """The number of consumers so far, including ended ones."""
        self.readers: dict[str, Reader] = {}
        self._plan = plan
        self._url = url
        self._folder = folder
        self._place = place, plan.topic
        self._turn = 0  # how often the consumers were replaced

    def __enter__(self) -> "_Cast":
        self._start_consumers()
        share, rest = divmod(self._plan.messages, len(self._plan.producers))
        for number, role in enumerate(self._plan.producers):
            name = f"p{number}"
            self.producers[name] = self._start("producing", name, role, share + (number < rest))
        return self

    def _start_consumers(self) -> None:
        turn = f"r{self._turn}" if self._turn else ""
        for number, role in enumerate(self._plan.consumers):
            name = f"c{number}{turn}"
            self.consumers[name] = self._start("consuming", name, role, 0)
        self.consuming.update(self.consumers)

    def _start(self, module: str, name: str, role: str, count: int) -> "subprocess.Popen[bytes]":
        ledger = self._folder / f"{name}-{role}.ledger"
        self.readers[name] = Reader(ledger)
        settings = Settings(name, role, self._url, *self._place, str(ledger), count)
        path = os.pathsep.join([str(_ROOT), str(_ROOT / "backends"), os.environ.get("PYTHONPATH", "")])
        with self.output(name).open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", f"integration.faults.{module}", msgspec.json.encode(settings).decode()],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": path},
            )

    def __exit__(self, *problem: object) -> None:
        for process in self._all():
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def _all(self) -> Iterator[subprocess.Popen[bytes]]:
        yield from self.producers.values()
        yield from self.consumers.values()

    def output(self, name: str) -> Path:
        """The output of that process."""
        return self._folder / f"{name}.out"

    def ask(self) -> None:
        """Let every process print the stacks of its threads."""
        for process in self._all():
            if process.poll() is None:
                process.send_signal(signal.SIGUSR1)

    def finish(self, patience: float, *, producers: bool) -> None:
        """Wait for the producers, if that can succeed, and then end the consumers."""
        for process in self.producers.values() if producers else ():
            with contextlib.suppress(subprocess.TimeoutExpired):  # reported by ``failures``
                process.wait(patience)
        self._end_consumers(patience)

    def restart_consumers(self, patience: float) -> bool:
        """Close all consumers and start others in their place, unless one of them fails."""
        self._end_consumers(patience)
        if any(process.poll() != 0 for process in self.consumers.values()):  # reported by ``failures``
            self.ask()
            return False
        self.consumers.clear()
        self._turn += 1
        self._start_consumers()
        return True

    def kill(self, what: str) -> Disturbance:
        """Have a worker process, or what supervises it, killed."""
        at = time.monotonic()
        if not ask_to_die(self._folder, what):
            raise FaultRunError(f"there was no {what} to kill: a consumer must have the role processes")
        return Disturbance(what, at, time.monotonic())

    def _end_consumers(self, patience: float) -> None:
        for process in self.consumers.values():
            if process.stdin is not None:
                process.stdin.close()
        for process in self.consumers.values():
            with contextlib.suppress(subprocess.TimeoutExpired):  # reported by ``failures``
                process.wait(patience)

    def failures(self) -> list[str]:
        """The processes that failed, each with the last line of its output."""
        found = []
        for name, process in {**self.producers, **self.consumers}.items():
            if process.poll() != 0:
                lines = self.output(name).read_text(errors="replace").strip().splitlines() or ["nothing printed"]
                how = "did not end" if process.poll() is None else f"ended with {process.poll()}"
                found.append(f"{name} {how}: {lines[-1]}")
        return found


class _Director:
    """Watches the ledgers, carries out the disturbances when they are due, and detects the end of the work."""

    def __init__(
        self,
        plan: Plan,
        cast: _Cast,
        proxy: FaultProxy | None,
        broker: Broker | None,
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._cast = cast
        self._proxy = proxy
        self._broker = broker
        self._say = say
        self._ledgers: dict[str, list[Entry]] = {name: [] for name in cast.readers}
        self._restarts = 0
        self._wanted: set[tuple[str, int]] = set()  # confirmed, not yet processed
        self._done: set[tuple[str, int]] = set()
        self._confirmed = 0
        self._acts = disturbances.draw(plan.seed, plan.cuts, plan.kills, plan.restarts, plan.deaths)
        self._disturbances: list[Disturbance] = []

    def direct(self) -> Report:
        started = time.monotonic()
        failures: list[str] = []
        progress, since = -1, started
        while not self._process_ended_early() and not (self._is_done() and not self._acts):
            self._read()
            if self._confirmed + len(self._done) != progress or self._is_done():
                progress = self._confirmed + len(self._done)
                if all(self._ledgers.values()):  # the first connect is not retried
                    self._disturb()
                since = time.monotonic()
            elif time.monotonic() - since > self._plan.patience:
                failures.append(f"no progress for {self._plan.patience:g} s; {len(self._wanted)} confirmed are missing")
                self._cast.ask()
                break
            time.sleep(_TICK)  # sleep: growing files give no notification
        seconds, ended_early = time.monotonic() - started, self._process_ended_early()
        self._cast.finish(self._plan.patience, producers=self._is_done())
        self._read()
        failures += self._cast.failures()
        verdict = judge(
            {name: self._ledgers[name] for name in self._cast.producers},
            {name: self._ledgers[name] for name in self._cast.consuming},
            self._disturbances,
            late(self._plan.broker, self._plan.options),
        )
        return Report(self._plan, seconds, self._disturbances, verdict, failures, self._restarts, ended_early)

    def _process_ended_early(self) -> bool:
        """Whether a process ended too early: producers end when all is confirmed, consumers on request."""
        if any(process.poll() not in (None, 0) for process in self._cast.producers.values()):
            return True
        return any(process.poll() is not None for process in self._cast.consumers.values())

    def _is_done(self) -> bool:
        """Whether all messages were confirmed and received."""
        return not self._wanted and self._confirmed >= self._plan.messages

    def _read(self) -> None:
        for name, reader in self._cast.readers.items():
            for entry in reader.more():
                self._ledgers[name].append(entry)
                call = (entry.key.partition(":")[0], entry.number)
                if entry.step is Step.CONFIRMED:
                    self._confirmed += 1
                    if call not in self._done:
                        self._wanted.add(call)
                elif entry.step in (Step.DONE, Step.MAYBE):
                    self._done.add(call)
                    self._wanted.discard(call)

    def _kill(self) -> None:
        assert self._broker is not None  # otherwise the plan was refused
        self._broker.restart(kill=True)

    def _disturb(self) -> None:
        """Carry out one due disturbance; the next one waits for progress, in order to hit working processes."""
        part = (self._confirmed + len(self._done)) / (2 * self._plan.messages)
        if not self._acts or self._acts[0].after > part:
            return
        act = self._acts.pop(0)
        self._say(f"{part:4.0%} {act.kind}")
        if act.kind == "restart":
            self._restarts += self._cast.restart_consumers(self._plan.patience)
            self._ledgers.update((name, []) for name in self._cast.readers if name not in self._ledgers)
        elif act.kind in disturbances.PROCESSES:
            self._disturbances.append(self._cast.kill(act.kind))
        elif self._proxy is not None:
            self._disturbances.append(disturbances.perform(act, self._proxy, self._kill))
