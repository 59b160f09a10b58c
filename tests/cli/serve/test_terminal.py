"""``jmsbridge run`` in a terminal: a line of progress, and the log of the worker processes above it."""

import os
import signal
import threading
from pathlib import Path

import pytest

import jmsbridge
from jmsbridge import Queue
from jmsbridge.cli import app
from tests.app.support import eventually
from tests.cli.terminal import on_terminal
from tools.laws.source import ROOT

APPLICATION = """
from jmsbridge.app import App
app = App("embedded:broker.db", max_redeliveries=0)

@app.listener("orders")
def on_order(text: str) -> None:
    if text == "bad":
        raise ValueError("no such order")
"""


def test_a_line_of_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APPLICATION, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    with jmsbridge.context("embedded:broker.db") as context:
        for text in ("good", "bad"):
            context.create_producer().send(Queue("orders"), text)
    code: object = None
    with on_terminal(monkeypatch) as screens:

        def wait() -> None:
            try:
                eventually(
                    lambda: "2 handled" in screens["stderr"].text() and "1 failed" in screens["stderr"].text(), 20
                )
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=wait).start()
        try:
            app(args=["run", "shop:app"])
        except SystemExit as ending:
            code = ending.code
        shown = screens["stderr"].text()
    assert code == 0
    assert "1 process connected · 0 running · 2 handled" in shown
    assert "INFO" in shown
    assert "jmsbridge.app: listening: on_order" in shown
    assert "ValueError: no such order" in shown
    assert "all listeners have ended" in shown
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
