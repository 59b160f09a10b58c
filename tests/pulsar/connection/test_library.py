"""The client library when it misbehaves as no server can make it: a call that never returns."""

import threading
import time

import pytest

from jmsbridge_pulsar.connection import library
from tests.pulsar.connection.support import Relayed


class _Stuck:
    """Its ``close`` returns once ``released`` is set."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.closing = threading.Event()

    def close(self) -> None:
        self.closing.set()
        self.released.wait(20)


def test_closing_it_has_a_limit(
    relayed: Relayed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(library, "_ENDING", 0.2)
    client = library.Library(relayed.relay.life, relayed.relay.words)
    client._client = stuck = _Stuck()
    began = time.monotonic()
    client.shut_down()
    assert stuck.closing.is_set()
    assert time.monotonic() - began < 10
    assert "has not ended" in caplog.text
    client.shut_down()  # idempotent
    stuck.released.set()
