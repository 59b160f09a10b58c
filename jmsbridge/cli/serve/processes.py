"""One worker process as the supervising process sees it: its reports, its log, its end, and its next start."""

import contextlib
import logging
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import IO, NamedTuple, Self

import msgspec

from jmsbridge.app.status import ListenerStatus
from jmsbridge.cli.printing import json_text
from jmsbridge.cli.running import note
from jmsbridge.cli.serve.order import VARIABLE, Order, Report
from jmsbridge.core.runtime.threads import start_thread

__all__ = ["Counts", "Slot"]

log = logging.getLogger("jmsbridge.run")

_PAUSE = 1.0  # before the first restart; doubles
_LONGEST_PAUSE = 30.0
_HEALTHY = 60.0  # seconds of life after which the pauses begin anew
_GRACE = 30.0  # for a process that has not reported how long its end may take
_MORE = 10.0  # beyond that
_LATELY = 5.0  # seconds since the report that comes every second


class Counts(NamedTuple):
    """What listeners have done."""

    handled: int = 0
    failed: int = 0
    dead_lettered: int = 0

    def plus(self, others: Iterable[ListenerStatus | Self]) -> Self:
        """These and others together."""
        every = [self, *others]
        return type(self)(*(sum(getattr(each, name) for each in every) for name in self._fields))


class Slot:
    """A place for one worker process, and its successors. Its owner's thread writes all but ``report``, ``heard``."""

    def __init__(self, order: Order, ended: "queue.SimpleQueue[tuple[str, int]]") -> None:
        self.report: Report | None = None
        self.heard = 0.0
        """When the last report came."""
        self.code: int | None = None
        """The exit code of the last process; None while one runs."""
        self.restarts = 0
        self.due: float | None = 0.0
        """When to start a process; None while one runs, or if there will be no other."""
        self._order = order
        self._ended = ended
        self._process: subprocess.Popen[str] | None = None
        self._pause = _PAUSE
        self._begun = 0.0
        self._kill_at: float | None = None
        self._asking: int | None = None  # the pipe to the process
        self._counts = self._before = Counts()  # of the process that runs, and of those before it

    @property
    def pid(self) -> int | None:
        """The id of the process that runs."""
        return None if self._process is None else self._process.pid

    @property
    def reported(self) -> Report | None:
        """The last report of the process that runs."""
        return None if self._process is None else self.report

    def start(self) -> None:
        """Start a process; if the system cannot, say so and try again after a pause, as after a death."""
        try:
            self._start()
        except OSError as error:  # no memory, file descriptors or processes are left
            pause = self._put_off()
            log.error("worker %d cannot be started (%s); tried again in %g s", self._order.number, error, pause)

    def _start(self) -> None:
        """The process gets no signals of the terminal: they are for the supervising process."""
        reading, writing = os.pipe()
        asked, asking = os.pipe()
        os.set_blocking(asking, False)
        order = msgspec.structs.replace(self._order, pipe=writing, asking=asked)
        try:
            self._process = process = subprocess.Popen(
                [sys.executable, "-m", "jmsbridge.cli.serve.worker"],
                env={**os.environ, VARIABLE: json_text(msgspec.to_builtins(order))},
                stdin=subprocess.DEVNULL,
                stderr=None if order.json_lines else subprocess.PIPE,
                pass_fds=[writing, asked],
                process_group=0,
                text=True,
            )
        except OSError:
            os.close(reading)
            os.close(asking)
            raise
        finally:
            os.close(writing)
            os.close(asked)
        self._asking = asking
        self.report, self.code, self.due, self._kill_at = None, None, None, None
        self._begun = time.monotonic()
        start_thread("jmsbridge-run-reports", lambda: self._read(process, reading))
        start_thread("jmsbridge-run-wait", lambda: self._wait(process))
        if process.stderr is not None:
            log_lines = process.stderr
            start_thread("jmsbridge-run-log", lambda: _show(log_lines, note))

    def _read(self, process: "subprocess.Popen[str]", reading: int) -> None:
        with os.fdopen(reading, "rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # it was killed while it wrote this
                report = msgspec.json.decode(line, type=Report)
                if self._process is process:
                    if report.status.listeners:  # none when it has stopped
                        self._counts = Counts().plus(report.status.listeners)
                    self.report, self.heard = report, time.monotonic()

    def _wait(self, process: "subprocess.Popen[str]") -> None:
        """Not for the end of the pipe: a process that a listener has forked may keep that open."""
        process.wait()  # wait: as long as it lives; ``check`` kills it when it should have ended
        self._ended.put(("ended", self._order.number))

    def end(self) -> None:
        """The process has ended."""
        assert self._process is not None
        assert self._asking is not None
        os.close(self._asking)
        self.code, self._process, self._asking = self._process.returncode, None, None
        self._before, self._counts = self.counts, Counts()

    @property
    def counts(self) -> Counts:
        """What the listeners of all its processes have done, as far as they have reported it."""
        return self._before.plus([self._counts])

    def can_tell_depths(self) -> bool:
        """Whether the process is connected, and has reported lately."""
        report = self.reported
        return report is not None and report.status.state == "connected" and time.monotonic() - self.heard < _LATELY

    def ask_depths(self) -> None:
        """Have the next reports of the process show how many messages wait now."""
        if self._asking is not None:
            with contextlib.suppress(BlockingIOError, BrokenPipeError):  # it is asked already, or ends
                os.write(self._asking, b"?")

    def again(self) -> None:
        """Start another process, after a pause that grows unless the last one has lived long."""
        self._pause = _PAUSE if self.age > _HEALTHY else self._pause
        pause = self._put_off()
        self.restarts += 1
        log.warning("worker %d ended with %d; restarted in %g s", self._order.number, self.code, pause)

    def _put_off(self) -> float:
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        self.due = time.monotonic() + pause
        return pause

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return time.monotonic() - self._begun

    def stop(self, *, again: bool) -> None:
        """Ask the process to end, the second time to do so at once; only the first time without ``again``."""
        if self.due is not None and self.code is not None and self.code < 0:
            self.code = None  # it was killed before, which says nothing about this end
        self.due = None
        if self._process is not None and (again or self._kill_at is None):
            self._process.send_signal(signal.SIGTERM)
            if self._kill_at is None:
                grace = _GRACE if self.report is None else self.report.grace
                self._kill_at = time.monotonic() + grace + _MORE

    def kill(self) -> None:
        """End the process at once, if one runs."""
        if self._process is not None:
            self._process.kill()

    def check(self) -> None:
        """Kill the process if it should have ended by now."""
        if self._process is not None and self._kill_at is not None and time.monotonic() > self._kill_at:
            log.error("worker %d does not end, and is killed; its messages come again", self._order.number)
            self.kill()


def _show(lines: IO[str], show: Callable[[str], None]) -> None:
    with lines:
        for line in lines:
            show(line.rstrip("\n"))
