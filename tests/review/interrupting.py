"""KeyboardInterrupt at each point of a call at which the interpreter looks for signals.

CPython runs signal handlers after calls of C functions, at the beginning of Python functions and at the end of a loop's
body; ``Interrupter`` raises at the n-th of these points that lies in jmsbridge, so that a test can go through all.
"""

import dis
import functools
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

import pytest

__all__ = ["Interrupter", "each_point", "needs_plain_locks"]

needs_plain_locks = pytest.mark.skipif(
    bool(os.environ.get("JMSBRIDGE_DEBUG_LOCKS")),
    reason="the debugging locks are written in Python: an interrupt inside them leaves them held",
)

_PACKAGES = ("/jmsbridge/", "/jmsbridge_embedded/")
_MOST = 500
_POINTS = ("CALL", "RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD")


@functools.cache
def _after_points(code: CodeType) -> frozenset[int]:
    """Offsets of the instructions that follow one after which signals are looked for."""
    if not any(package in code.co_filename for package in _PACKAGES):
        return frozenset()
    found = set()
    after = False
    for instruction in dis.get_instructions(code):
        if after:
            found.add(instruction.offset)
        after = instruction.opname.startswith(_POINTS)
    return frozenset(found)


class Interrupter:
    """``with Interrupter(n) as it:`` raises KeyboardInterrupt once, at point ``n``; ``it.fired`` says whether."""

    def __init__(self, point: int, only: str = "") -> None:
        self._left = point
        self._only = only
        self.fired = False
        self._left_frame: FrameType | None = None

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.fired:
            return None
        if self._only not in frame.f_code.co_filename or not _after_points(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self._left_frame = frame.f_back  # a call of a Python function ends without looking for signals
        if event != "opcode":
            return self._step
        returned, self._left_frame = self._left_frame, None
        if not self.fired and returned is not frame and frame.f_lasti in _after_points(frame.f_code):
            if self._left == 0:
                self.fired = True
                raise KeyboardInterrupt
            self._left -= 1
        return self._step


def each_point(act: Callable[[], object]) -> Iterator[bool]:
    """Run ``act`` again and again, interrupted one point later each time, until it is not interrupted at all."""
    for point in range(_MOST):
        interrupted = False
        with Interrupter(point, "/jmsbridge/") as interrupter:
            try:
                act()
            except KeyboardInterrupt:
                interrupted = True
        assert interrupted == interrupter.fired
        yield interrupted
        if not interrupter.fired:
            return
    raise AssertionError("never finished")
