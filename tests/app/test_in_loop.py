"""Async listeners that acknowledge: called in the loop, with every promise of a listener on a thread."""

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest

import jmsbridge
from jmsbridge import DUPS_OK_ACKNOWLEDGE, InvalidDestinationException, Message, Queue, Session, TextMessage
from jmsbridge.app import App, Decision
from jmsbridge.app.loop_workers import LoopWorker
from jmsbridge.errors import IllegalState
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard, eventually, request, texts

_seen: contextvars.ContextVar[str] = contextvars.ContextVar("_seen", default="")


def workers(app: App) -> list[Any]:
    container = app._container
    assert container is not None
    return [worker for group in container.groups for worker in group.workers]


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("mode", [{}, {"acknowledge": DUPS_OK_ACKNOWLEDGE}], ids=str)
def test_no_message_crosses_threads(jms_broker: JMSBroker, mode: dict[str, Any], block: bool) -> None:
    app, heard = App(block_on_acknowledge=block), Heard()

    @app.listener("orders", **mode)
    async def listener(text: str) -> None:
        assert asyncio.get_running_loop()
        heard.append((text, threading.current_thread().name))

    with app:
        jms_broker.send("orders", *map(str, range(200)))
        heard.wait(200)
        assert not [one.name for one in threading.enumerate() if one.name.endswith("-deliver")]
    assert heard == [(str(number), "jmsbridge-app-loop") for number in range(200)]
    assert jms_broker.messages("orders") == []


def test_listeners_that_wait_for_the_broker_have_a_thread(jms_broker: JMSBroker) -> None:
    app = App()

    @app.listener("a", transacted=True)
    async def in_transaction(text: str) -> None: ...

    @app.listener("b", transacted=False)
    async def with_session(text: str, session: Session) -> None: ...

    @app.listener("c")
    def plain(text: str) -> None: ...

    with app:
        assert not any(isinstance(worker, LoopWorker) for worker in workers(app))


@pytest.mark.parametrize("mode", [{"transacted": False}, {"acknowledge": DUPS_OK_ACKNOWLEDGE}], ids=str)
def test_results_are_sent_from_the_loop(jms_broker: JMSBroker, mode: dict[str, Any]) -> None:
    app = App()

    @app.listener("orders", send_to="answers", **mode)
    async def answering(text: str) -> str:
        return text.upper()

    with app:
        jms_broker.send("orders", *(f"a{number}" for number in range(200)))
        eventually(lambda: len(jms_broker.messages("answers")) == 200)
        assert not [one.name for one in threading.enumerate() if one.name.endswith(("-deliver", "-complete"))]
    assert texts(jms_broker, "answers") == [f"A{number}" for number in range(200)]
    assert jms_broker.messages("orders") == []


def test_a_message_whose_result_is_not_sent_comes_again(jms_broker: JMSBroker) -> None:
    app, heard = App(redelivery_delay_first=0.01), Heard()

    def decide(error: BaseException, message: Message) -> None:
        heard.append(type(error))

    @app.listener("orders", transacted=False, on_error=decide)
    async def answering(message: TextMessage) -> object:
        heard.append(message.jms_redelivered)
        if message.jms_redelivered:
            message.jms_reply_to = Queue("answers")
        return message.text

    with jmsbridge.connect(jms_broker.url) as connection, connection.create_session() as session:
        gone = session.create_temporary_queue()
        gone.delete()
        message = session.create_text_message("x")
        message.jms_reply_to = gone
        with app:
            session.create_producer(Queue("orders")).send(message)
            heard.wait(3)
            eventually(lambda: texts(jms_broker, "answers") == ["x"])
    assert heard == [False, InvalidDestinationException, True]
    assert jms_broker.messages("orders") == []


def test_context_variables_end_with_the_call(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    async def listener(text: str) -> None:
        before = _seen.get()
        _seen.set(text)
        await asyncio.sleep(0)
        inner = await asyncio.create_task(asyncio.sleep(0, _seen.get()))
        heard.append((before, inner, _seen.get()))

    with app:
        jms_broker.send("orders", "a", "b")
        heard.wait(2)
    assert heard == [("", "a", "a"), ("", "b", "b")]


@pytest.mark.parametrize("waits", [False, True])
def test_a_call_that_cancels_itself_ends_alone(jms_broker: JMSBroker, waits: bool) -> None:
    app, heard = App(redelivery_delay_first=0.01), Heard()

    @app.listener("orders")
    async def listener(message: TextMessage) -> None:
        heard.append((message.text, message.jms_redelivered))
        if message.text == "a" and not message.jms_redelivered:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            if waits:
                await asyncio.sleep(10)

    with app:
        jms_broker.send("orders", "a")
        heard.wait(2 if waits else 1)
        jms_broker.send("orders", "b")
        heard.wait(3 if waits else 2)
        assert app.status().listeners[0].failed == waits
    assert heard == [("a", False), *([("a", True)] if waits else []), ("b", False)]
    assert jms_broker.messages("orders") == []


def test_timeouts_and_groups_of_the_listener_are_its_own(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    async def listener(text: str) -> None:
        try:
            async with asyncio.timeout(0.01), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(10))
        except TimeoutError:
            heard.append(text)

    with app:
        jms_broker.send("orders", "a", "b")
        heard.wait(2)
        assert app.status().listeners[0].failed == 0
    assert heard == ["a", "b"]
    assert jms_broker.messages("orders") == []


def test_a_consumer_whose_task_was_cancelled_between_calls_is_replaced(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture
) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    async def listener(text: str) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        if text == "a":
            loop.call_later(0.05, task.cancel)  # a watchdog that is not taken off
        heard.append(text)

    with app:
        jms_broker.send("orders", "a")
        eventually(lambda: "the task that calls the listener has ended" in caplog.text)
        jms_broker.send("orders", "b")
        heard.wait(2)
    assert heard == ["a", "b"]


def test_an_error_handler_may_wait_and_the_loop_goes_on(jms_broker: JMSBroker) -> None:
    app, go, heard = App(), threading.Event(), Heard()

    def decide(error: BaseException, message: object) -> Decision:
        go.wait(10)
        heard.append(threading.current_thread().name)
        return Decision.DEAD_LETTER

    @app.listener("orders", on_error=decide)
    async def failing(text: str) -> None:
        raise ValueError(text)

    @app.listener("bills")
    async def other(text: str) -> None:
        heard.append(text)
        go.set()

    with app:
        jms_broker.send("orders", "x")
        eventually(lambda: app.status().listeners[0].running == 1)
        jms_broker.send("bills", "y")
        heard.wait(2)
        eventually(lambda: app.status().listeners[0].dead_lettered == 1)
    assert heard == ["y", "jmsbridge-app-wait"]
    assert texts(jms_broker, "DLQ") == ["x"]
    assert jms_broker.messages("orders") == []


def test_a_cancellation_after_the_call_has_no_effect_on_what_is_done_about_its_error(jms_broker: JMSBroker) -> None:
    app, go, heard, tasks = App(), threading.Event(), Heard(), list[Any]()

    def decide(error: BaseException, message: object) -> Decision:
        tasks[0].get_loop().call_soon_threadsafe(tasks[0].cancel)
        tasks[0].get_loop().call_soon_threadsafe(go.set)
        go.wait(10)
        return Decision.DEAD_LETTER

    @app.listener("orders", on_error=decide)
    async def listener(text: str) -> None:
        heard.append(text)
        if text == "a":
            tasks.append(asyncio.current_task())
            raise ValueError(text)

    with app:
        before = workers(app)
        jms_broker.send("orders", "a", "b")
        heard.wait(2)
        assert workers(app) == before
    assert heard == ["a", "b"]
    assert texts(jms_broker, "DLQ") == ["a"]
    assert jms_broker.messages("orders") == []


def test_a_cancellation_after_the_call_does_not_cancel_the_result(target: str) -> None:
    app, heard = App(target), Heard()

    @app.listener("orders", send_to="answers", transacted=False)
    async def answering(text: str) -> str:
        heard.append(text)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        return text

    with app, jmsbridge.context(target) as context:
        before = workers(app)
        context.create_producer().send(Queue("orders"), "a")
        context.create_producer().send(Queue("orders"), "b")
        consumer = context.create_consumer(Queue("answers"))
        assert [consumer.receive_body(str, timeout=10) for _ in "ab"] == ["a", "b"]
        assert workers(app) == before
    assert heard == ["a", "b"]


def test_neither_a_listener_nor_its_handler_may_wait_for_the_stop(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    def decide(error: BaseException, message: object) -> Decision:
        with pytest.raises(IllegalState, match="call request_stop there"):
            app.stop()
        heard.append("handler")
        return Decision.ACCEPT

    @app.listener("orders", on_error=decide)
    async def listener(text: str) -> None:
        with pytest.raises(IllegalState, match="call request_stop there"):
            app.stop()
        heard.append("listener")
        raise ValueError(text)

    with app:
        jms_broker.send("orders", "x")
        heard.wait(2)
    assert heard == ["listener", "handler"]
    assert jms_broker.messages("orders") == []


def test_a_result_that_was_not_announced_is_sent_all_the_same(jms_broker: JMSBroker) -> None:
    app = App()

    @app.listener("orders")
    async def listener(text: str) -> None:
        return text.upper()  # type: ignore[return-value]

    with app:
        reply = request(jms_broker, Queue("orders"), "x")
    assert isinstance(reply, TextMessage)
    assert reply.text == "X"


def test_consumers_are_added_by_backlog(jms_broker: JMSBroker) -> None:
    app, going = App(), Heard()
    go = asyncio.Event()

    @app.listener("orders", concurrency=(1, 3))
    async def listener(text: str) -> None:
        going.append(asyncio.get_running_loop())
        await go.wait()

    with app:
        jms_broker.send("orders", *"abcdefghijkl")
        going.wait(3, 15)
        eventually(lambda: app.status().listeners[0].running == 3)  # it is called before it is counted
        going[0].call_soon_threadsafe(go.set)
        eventually(lambda: app.status().listeners[0].handled == 12)
    assert jms_broker.messages("orders") == []


def test_what_listeners_leave_in_the_loop_is_cancelled_at_the_end(jms_broker: JMSBroker) -> None:
    app, heard, kept = App(), Heard(), []

    async def endless() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    @app.listener("orders")
    async def listener(text: str) -> None:
        kept.append(asyncio.create_task(endless()))
        await asyncio.sleep(0)
        heard.append(text)

    began = time.monotonic()
    with app:
        jms_broker.send("orders", "x")
        heard.wait(1)
    assert heard.wait(2) == ["x", "cancelled"]
    assert time.monotonic() - began < 10
