"""Requests of a template that end in another way than by a reply in time."""

import gc
import math
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import jmsbridge
from jmsbridge import IllegalState, JMSSecurity, Message, Queue, Session, Template, TextMessage
from jmsbridge.app import App, JsonConverter
from jmsbridge.errors import JMSSecurityException
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard, eventually


@pytest.fixture
def service(target: str) -> Iterator[None]:
    app = App(target)

    @app.listener("questions")
    def answer(question: str) -> str:
        return f"{question}!"

    with app:
        yield


@pytest.mark.usefixtures("service")
def test_a_delay_of_an_earlier_send_is_not_that_of_a_request(target: str) -> None:
    with Template(target, sessions=1) as template:
        template.send("orders", "later", delivery_delay=60)
        assert template.request("questions", "q", str, timeout=5) == "q!"


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("timeout", [math.inf, 1e12])
def test_a_request_may_wait_for_ever(target: str, timeout: float) -> None:
    with Template(target) as template:
        assert template.request("questions", "q", str, timeout=timeout) == "q!"


def test_a_cancelled_request_makes_room_for_another(target: str) -> None:
    with Template(target, max_requests=1) as template:
        for _ in range(3):
            assert template.request_async("nobody", "q", timeout=60).cancel()
        with pytest.raises(TimeoutError, match="nobody"):
            template.request("nobody", "q", timeout=0.05)


def test_a_callback_that_raises_keeps_no_other_request_waiting(target: str, caplog: pytest.LogCaptureFixture) -> None:
    def leave(_: Future[Any]) -> None:
        raise SystemExit(3)

    with Template(target) as template:
        template.request_async("nobody", "q", timeout=1).add_done_callback(leave)
        eventually(lambda: "done callback" in caplog.text)
        with pytest.raises(TimeoutError, match="nobody"):
            template.request_async("nobody", "q", timeout=0.05).result(5)


class Leaving(JsonConverter):
    def from_message(self, message: Message, type: Any = None) -> Any:
        raise SystemExit(3)


@pytest.mark.usefixtures("service")
def test_a_converter_that_raises_anything_ends_the_request(target: str) -> None:
    with Template(target, converter=Leaving()) as template, pytest.raises(SystemExit):
        template.request_async("questions", "q", str, timeout=60).result(5)


@pytest.mark.usefixtures("service")
def test_a_callback_may_not_close_the_template_which_stays_usable(target: str) -> None:
    template, heard = Template(target), Heard()

    def close(_: Future[Any]) -> None:
        try:
            template.close()
        except IllegalState as error:
            heard.append(error)

    template.request_async("questions", "q", timeout=5).add_done_callback(close)
    heard.wait(1)
    assert template.request("questions", "q", str, timeout=5) == "q!"
    opened = template._opened
    assert opened is not None
    template.close()
    assert opened.is_over
    with pytest.raises(IllegalState, match="template is closed"):
        template.send("questions", "q")


def test_requests_fail_at_once_when_the_connection_is_lost_for_good(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture
) -> None:
    with Template(jms_broker.url, reconnect_attempts=0) as template:
        waiting = template.request_async("nobody", "q", timeout=60)
        jms_broker.cut()
        with pytest.raises(IllegalState, match=r"the connection was lost for good \(.*\) before the reply came"):
            waiting.result(5)
        assert "the connection of a template: " in caplog.text
        template.send("orders", "later")  # on a new connection


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_template_that_is_dropped_closes_its_connection(target: str) -> None:
    template = Template(target)
    template.send("orders", "one")
    assert template._opened is not None
    core = template._opened.connection._core
    del template
    gc.collect()
    eventually(lambda: core.supervisor.is_over)


def test_a_callback_may_ask_again_when_the_connection_is_lost_for_good(target: str) -> None:
    with Template(target) as template:
        heard = Heard()

        def again(_: Future[Any]) -> None:
            template.send("orders", "again")
            heard.append("sent")

        waiting = template.request_async("nobody", "q", timeout=60)
        waiting.add_done_callback(again)
        assert template._opened is not None
        template._opened.connection.close()
        template.send("orders", "first")
        heard.wait(1, timeout=5)
        with pytest.raises(IllegalState, match="lost for good before the reply"):
            waiting.result(0)
        assert {template.receive("orders", str, timeout=1) for _ in range(2)} == {"first", "again"}


def test_a_request_on_a_closed_connection_is_refused(target: str) -> None:
    with Template(target) as template:
        assert template._opened is None
        requests = template._open().requests()
    with pytest.raises(IllegalState, match="template was closed"):
        requests.add("nobody", 60, lambda message: message)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_requests_and_locks_of_its_parent(tmp_path_factory: pytest.TempPathFactory) -> None:
    url = f"embedded:{tmp_path_factory.mktemp('fork') / 'orders.db'}"
    with Template(url) as template:
        ended: list[Future[Any]] = []
        template.request_async("nobody", "q", timeout=60).add_done_callback(ended.append)
        held, done = threading.Event(), threading.Event()

        def hold() -> None:  # as a thread does that opens a connection in this moment
            with template._lock:
                held.set()
                done.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(10)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                sending = threading.Thread(target=template.send, args=("orders", "child"), daemon=True)
                sending.start()
                sending.join(10)
                code = 2 if ended else 3 if sending.is_alive() else 0
            finally:
                os._exit(code)
        done.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not ended
        with jmsbridge.context(url) as other:
            message = other.create_consumer(Queue("orders")).receive(timeout=5)
        assert isinstance(message, TextMessage)
        assert message.text == "child"


def test_a_refused_reply_queue_leaves_no_session(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Session) -> None:
        raise JMSSecurityException("no temporary queues")

    monkeypatch.setattr(Session, "create_temporary_queue", refuse)
    with Template(target) as template:
        for _ in range(3):
            with pytest.raises(JMSSecurity, match="no temporary queues"):
                template.request("nobody", "q", timeout=1)
        gc.collect()
        open_sessions = [each for each in gc.get_objects() if isinstance(each, Session) and " open>" in repr(each)]
        assert open_sessions == []
