"""Calls in the main thread that another thread's close meets."""

import threading
from typing import Any

import pytest

from jmsbridge import IllegalState
from jmsbridge.core.runtime import calls
from jmsbridge.core.runtime.calls import MainThreadCalls
from jmsbridge.core.runtime.interrupts import Work, start_whole


def test_a_close_ends_a_call_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not be waited for: nobody would run it."""
    session, ran = MainThreadCalls(lambda: None), list[int]()

    def start_after_the_close(work: Work[Any]) -> None:
        closing = threading.Thread(target=session.wait_end)
        closing.start()
        closing.join()
        start_whole(work)

    monkeypatch.setattr(calls, "start_whole", start_after_the_close)
    with pytest.raises(IllegalState, match="closed by another thread before this call began"):
        session.wait_whole(lambda: ran.append(1))
    assert ran == []
