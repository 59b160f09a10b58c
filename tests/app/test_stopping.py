"""How an application ends: in order, within its deadline, with an exit code that says how; nothing is lost."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import jmsbridge
from jmsbridge import Message, Queue, TextMessage
from jmsbridge.app import App
from jmsbridge.app.container import Container
from jmsbridge.app.running import FAILED, OK, UNFINISHED
from jmsbridge.errors import IllegalState, InvalidArgumentException, JMSException
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard, eventually, texts
from tools.laws.source import ROOT


def delivers(app: App) -> bool:
    container = app._container
    assert container is not None
    assert container.connection is not None
    return container.connection._core.delivery.on


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_listeners_end_and_returns_the_rest(jms_broker: JMSBroker, number: int) -> None:
    app, heard, before = App(), Heard(), signal.getsignal(number)

    @app.listener("orders")
    def listener(text: str) -> str:
        os.kill(os.getpid(), number)
        eventually(lambda: not delivers(app))
        heard.append(text)
        return text

    jms_broker.send("orders", "a", "b", "c")
    assert app.run() == OK
    assert heard == ["a"]
    assert texts(jms_broker, "orders") == ["b", "c"]
    assert not any(message.jms_redelivered for message in jms_broker.messages("orders"))
    assert signal.getsignal(number) is before
    assert app.status().state == "closed"


def test_a_stop_that_ends_late_leaves_the_next_start_alone(
    jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, stop = App(), Container.stop
    app.listener("orders")(lambda text: None)

    def late(container: Container, timeout: float) -> tuple[str, ...]:
        """Meanwhile another thread stops it, too, and starts it again."""
        monkeypatch.undo()
        app.stop()
        app.start()
        return stop(container, timeout)

    app.start()
    monkeypatch.setattr(Container, "stop", late)
    app.stop()
    assert app.status().state == "connected"
    app.stop()
    assert app.status().state == "closed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_does_not_wait_for_a_silent_broker(number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        app = App(f"stomp://127.0.0.1:{silent.getsockname()[1]}", connect_timeout=30)
        app.listener("orders")(lambda text: None)
        threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
        began = time.monotonic()
        assert app.run() == OK
        assert time.monotonic() - began < 10
    assert app.status().state == "closed"


def test_a_listener_may_ask_to_stop_but_not_wait_for_it(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    def listener(text: str) -> None:
        try:
            app.stop()
        except IllegalState as error:
            heard.append(str(error))
        app.request_stop()
        app.request_stop()

    jms_broker.send("orders", "x")
    assert app.run() == OK
    assert "call request_stop there" in heard[0]
    assert jms_broker.messages("orders") == []
    assert app._requests.empty()


def test_listeners_that_do_not_end_in_time_are_named_and_idle_consumers_return_their_messages(
    jms_broker: JMSBroker,
) -> None:
    app, go, begun = App(stop_timeout=0.1), threading.Event(), threading.Event()

    @app.listener("orders", name="slow", prefetch=1)
    def slow(text: str) -> None:
        begun.set()
        go.wait(30)

    @app.listener("bills", name="idle")
    def idle(text: str) -> None: ...

    jms_broker.send("orders", "x", "y")
    when(lambda: begun.wait(10), app.request_stop)
    assert app.run() == UNFINISHED
    with jms_broker.connect() as connection:
        assert connection.admin.depth(Queue("orders")) == 2  # not settled: they go back when the process ends
    go.set()
    eventually(lambda: len(jms_broker.messages("orders")) == 1)  # it has ended after all, and that counts


def test_async_listeners_are_cancelled_and_their_messages_come_again(jms_broker: JMSBroker) -> None:
    app, heard = App(stop_timeout=0.1), Heard()

    @app.listener("orders", name="endless", concurrency=2, prefetch=1)
    async def endless(message: TextMessage) -> None:
        try:
            heard.append(message.text)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    app.start()
    jms_broker.send("orders", "a", "b")
    heard.wait(2)
    assert app.stop() == ("endless", "endless")
    assert sorted(heard) == ["a", "b", "cancelled", "cancelled"]
    assert sorted(str(text) for text in texts(jms_broker, "orders")) == ["a", "b"]
    assert all(message.jms_redelivered for message in jms_broker.messages("orders"))


def test_stop_from_several_threads_and_twice(jms_broker: JMSBroker) -> None:
    app = App()

    @app.listener("orders")
    def listener(message: Message) -> None: ...

    app.start()
    threads = [threading.Thread(target=app.stop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert app.stop() == ()


def test_no_thread_is_left(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders", concurrency=3)
    async def listener(text: str) -> None:
        heard.append(text)

    with app:
        jms_broker.send("orders", "x")
        heard.wait(1)
    eventually(lambda: not [one.name for one in threading.enumerate() if one.name.startswith("jmsbridge-app")])
    assert jms_broker.messages("orders") == []


# ---- a broker that is away at the start


def test_start_says_that_the_broker_is_away_and_leaves_nothing_open() -> None:
    app = App("rabbitmq://127.0.0.1:1", connect_timeout=0.5)
    app.listener("orders")(print_it)
    with pytest.raises(JMSException, match=r"127\.0\.0\.1"):
        app.start()
    assert app.status().state == "closed"


def when(wait: Callable[[], object], act: Callable[[], None]) -> None:
    """Act on another thread, after waiting there."""

    def run() -> None:
        wait()
        act()

    threading.Thread(target=run).start()


def print_it(message: Message) -> None:
    print(message)


def test_run_tries_again_until_it_is_asked_to_stop(caplog: pytest.LogCaptureFixture) -> None:
    app = App("rabbitmq://127.0.0.1:1", connect_timeout=0.5)
    app.listener("orders")(print_it)
    when(lambda: eventually(lambda: "next attempt in 2 s" in caplog.text), app.request_stop)
    assert app.run() == OK
    assert "cannot start yet; next attempt in 1 s: rabbitmq://127.0.0.1:1: no connection" in caplog.text


def test_run_begins_when_the_broker_comes(jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = Heard()
    app = App()

    @app.listener("orders")
    def listener(text: str) -> None:
        app.request_stop()

    import jmsbridge.app.container as container

    def connect(target: object, **options: object) -> jmsbridge.Connection:
        tries.append(1)
        if len(tries) == 1:
            raise JMSException("no broker yet")
        return jmsbridge.connect(jms_broker.url)

    monkeypatch.setattr(container, "connect", connect)
    jms_broker.send("orders", "x")
    assert app.run() == OK
    assert len(tries) == 2
    assert jms_broker.messages("orders") == []


def test_wrong_credentials_are_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    url = "embedded:?broker=locked&credentials=app:secret"
    with jmsbridge.connect(url, user="app", password="secret"):
        app = App(url, user="app", password="wrong")
        app.listener("orders")(print_it)
        assert app.run() == FAILED
    assert "cannot start" in caplog.text


def test_what_is_not_valid_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def connect(target: object, **options: object) -> jmsbridge.Connection:
        raise InvalidArgumentException("-1 is not a number of seconds")

    monkeypatch.setattr("jmsbridge.app.container.connect", connect)
    app = App()
    app.listener("orders")(print_it)
    assert app.run() == FAILED
    assert "cannot start: -1 is not a number of seconds" in caplog.text


def test_a_connection_that_is_lost_for_good_ends_it(jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture) -> None:
    app = App(reconnect_attempts=0)

    @app.listener("orders")
    def listener(text: str) -> None:
        jms_broker.cut()

    jms_broker.send("orders", "x")
    assert app.run() == FAILED
    assert "the connection is lost for good" in caplog.text
    assert len(jms_broker.messages("orders")) == 1


# ---- processes


PROGRAM = """
import os, signal, sys, time
from jmsbridge.app import App
app = App(sys.argv[1], stop_timeout={stop_timeout})

@app.listener("orders")
def listener(text: str) -> str:
    print("begun", text, flush=True)
    {body}
    return text

code = app.run()
print("code", code, flush=True)
os._exit(code)
"""


class Program:
    """An application in a process of its own, on a broker in a file."""

    def __init__(self, folder: Path, body: str, stop_timeout: float = 30) -> None:
        self.url = f"embedded:{folder}/broker.db"
        with jmsbridge.context(self.url) as context:
            context.create_producer().set_jms_reply_to(Queue("replies")).send(Queue("orders"), "x")
        code = PROGRAM.format(body=body, stop_timeout=stop_timeout)
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), self.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'backends'}"},
        )

    def begun(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "begun x\n"

    def ended(self) -> tuple[int, str, str]:
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors

    def left(self) -> tuple[list[bool], int]:
        """Whether each order that is left was delivered before, and the number of replies."""
        with jmsbridge.context(self.url) as context:
            consumer = context.create_consumer(Queue("orders"))
            found: list[bool] = []
            while (message := consumer.receive(timeout=3 if not found else 0.2)) is not None:
                found.append(message.jms_redelivered)
            return found, len(list(context.create_browser(Queue("replies"))))


def test_sigterm_lets_the_listener_end(tmp_path: Path) -> None:
    program = Program(tmp_path, "time.sleep(0.5)")
    program.begun()
    program.process.send_signal(signal.SIGTERM)
    assert program.ended()[:2] == (0, "code 0\n")
    with jmsbridge.context(program.url) as context:
        assert len(list(context.create_browser(Queue("orders")))) == 0
        assert len(list(context.create_browser(Queue("replies")))) == 1


def test_a_listener_that_never_returns_is_left_behind(tmp_path: Path) -> None:
    program = Program(tmp_path, "time.sleep(1000)", stop_timeout=0.2)
    program.begun()
    program.process.send_signal(signal.SIGTERM)
    code, out, _ = program.ended()
    assert (code, out) == (4, "code 4\n")
    assert program.left() == ([True], 0)


def test_a_second_sigterm_ends_it_at_once(tmp_path: Path) -> None:
    body = """
    while app._container.connection._core.delivery.on:
        time.sleep(0.01)
    print("stopping", flush=True)
    time.sleep(1000)
    """
    program = Program(tmp_path, textwrap.indent(textwrap.dedent(body), "    ").strip())
    program.begun()
    program.process.send_signal(signal.SIGTERM)
    assert program.process.stdout is not None
    assert program.process.stdout.readline() == "stopping\n"  # a second signal before that could merge with the first
    program.process.send_signal(signal.SIGTERM)
    code, out, errors = program.ended()
    assert (code, out) == (143, "")
    assert "stopped at once by a second signal; messages that were not settled come again" in errors
    assert program.left() == ([True], 0)


def test_a_child_of_a_listener_ends_by_sigterm(tmp_path: Path) -> None:
    """It inherits the handler, which lets the application stop in order."""
    body = """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"x")
        time.sleep(60)
        os._exit(3)
    os.read(reading, 1)  # Python forgets signals that come before a child runs
    os.kill(child, signal.SIGTERM)
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    print("child", os.waitstatus_to_exitcode(status), flush=True)
    app.request_stop()
    """
    program = Program(tmp_path, textwrap.indent(textwrap.dedent(body), "    ").strip())
    program.begun()
    code, out, errors = program.ended()
    assert code == OK, errors
    assert f"child {-signal.SIGTERM}\n" in out


@pytest.mark.parametrize(
    "body", ["time.sleep(1000)", "os.kill(os.getpid(), signal.SIGKILL)"], ids=["outside", "itself"]
)
def test_sigkill_loses_nothing(tmp_path: Path, body: str) -> None:
    program = Program(tmp_path, body)
    program.begun()
    if body.startswith("time"):
        program.process.kill()
    assert program.ended()[0] == -signal.SIGKILL
    assert program.left() == ([True], 0)
