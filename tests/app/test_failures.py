"""What goes wrong in listeners: nothing is lost, nothing hangs, and it is said in words."""

import asyncio
import logging
import threading
from typing import Annotated, Any

import pytest

import jmsbridge
from jmsbridge import CLIENT_ACKNOWLEDGE, Message, Queue, Session, TextMessage
from jmsbridge.app import App, Decision, JsonConverter, Property
from jmsbridge.app.workers import Worker
from jmsbridge.config import RedeliveryPolicy
from jmsbridge.core.runtime.closing import State
from jmsbridge.errors import IllegalState, TransactionRolledBackException
from jmsbridge.spi import DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON
from jmsbridge.testing.broker import JMSBroker
from jmsbridge.testing.marks import rule
from tests.app.support import Heard, Order, eventually, request, texts

CONVERTER = JsonConverter({"Order": Order})
MODES = [{"transacted": False}, {"transacted": True}, {"acknowledge": CLIENT_ACKNOWLEDGE}]


def dead(broker: JMSBroker, queue: str = "DLQ", count: int = 1) -> list[Message]:
    return list(eventually(lambda: found if len(found := broker.messages(queue)) >= count else None))


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_what_cannot_be_converted_is_dead_lettered_at_once(jms_broker: JMSBroker, mode: dict[str, Any]) -> None:
    app, heard = App(converter=CONVERTER), Heard()

    @app.listener("orders", **mode)
    def listener(order: Order) -> None:
        heard.append(order)

    with app:
        context = jms_broker.context()
        producer = context.create_producer().set_priority(7).set_property("tenant", "acme")
        for name, body in (("os.system", "{}"), ("Order", '{"number":"x"}'), ("Order", "[" * 200), ("Order", "{"))[:4]:
            producer.set_property("_type", name).send(Queue("orders"), body)
        producer.send(Queue("orders"), {"a": "map"})
        producer.send(Queue("orders"), CONVERTER.to_message(context, Order(5)))
        heard.wait(1)
        letters = dead(jms_broker, count=5)
        (status,) = app.status().listeners
    assert heard == [Order(5)]
    assert (status.handled, status.failed, status.dead_lettered) == (6, 0, 5)
    reasons = [letter.get_string_property(DEAD_LETTER_REASON) or "" for letter in letters]
    assert reasons[0].startswith("not converted: property '_type' names the type 'os.system', which is not allowed")
    assert "Expected `int`, got `str`" in reasons[1]
    assert "is no Order" in reasons[2]
    assert [letter.get_string_property(DEAD_LETTER_ORIGIN) for letter in letters] == ["queue:orders"] * 5
    assert {(each.jms_priority, each.get_string_property("tenant")) for each in letters} == {(7, "acme")}
    assert letters[0].get_body(str) == "{}"
    assert jms_broker.messages("orders") == []


@pytest.mark.parametrize("returns", [None, str])
@pytest.mark.parametrize("is_async", [False, True])
def test_dead_letters_of_the_redelivery_policy_are_counted(jms_broker: JMSBroker, is_async: bool, returns: Any) -> None:
    app = App(redelivery={"*": {"max_redeliveries": 1, "delay": 0.0}})

    def fail(text: str) -> Any:
        raise ValueError(text)

    async def fail_later(text: str) -> Any:
        raise ValueError(text)

    function: Any = fail_later if is_async else fail
    function.__annotations__["return"] = returns
    app.listener("orders")(function)
    with app:
        jms_broker.send("orders", "a", "b")
        dead(jms_broker, count=2)
        eventually(lambda: app.status().listeners[0].dead_lettered == 2)
        assert app.status().listeners[0].failed == 4


def test_a_call_whose_commit_fails_counts_as_failed(jms_broker: JMSBroker) -> None:
    app, errors = App(redelivery={"*": {"max_redeliveries": 1, "delay": 0.0}}), Heard()

    @app.listener("orders")
    def listener(text: str) -> str:
        return text

    app.observe(lambda listener, message, error: errors.append(type(error)))
    with jmsbridge.context(jms_broker.url) as gone:
        replies = gone.create_temporary_queue()
        jms_broker.context().create_producer().set_jms_reply_to(replies).send(Queue("orders"), "m")
    with app:
        dead(jms_broker)
        errors.wait(2)
        (status,) = app.status().listeners
    assert errors == [TransactionRolledBackException] * 2
    assert (status.failed, status.dead_lettered) == (2, 1)


def test_a_missing_property_is_dead_lettered_with_its_name(jms_broker: JMSBroker) -> None:
    app = App()

    @app.listener("orders")
    def listener(text: str, tenant: Annotated[int, Property("tenant")]) -> None: ...

    with app:
        context = jms_broker.context()
        context.create_producer().send(Queue("orders"), "none")
        context.create_producer().set_property("tenant", "acme").send(Queue("orders"), "text")
        letters = dead(jms_broker, count=2)
    reasons = [letter.get_string_property(DEAD_LETTER_REASON) or "" for letter in letters]
    assert "has no property 'tenant', which parameter 'tenant' of listener" in reasons[0]
    assert "property 'tenant', here a str, does not fit parameter 'tenant'" in reasons[1]
    assert "acme" not in reasons[1]


def test_the_dead_letter_queue_of_the_policy_is_used(jms_broker: JMSBroker) -> None:
    app = App()
    policy = RedeliveryPolicy(max_redeliveries=0, dead_letter_queue="bad orders")

    @app.listener("orders", redelivery=policy)
    def listener(order: Order) -> None: ...

    @app.listener("bills", redelivery={"max_redeliveries": 1, "first_delay": 0.01})
    def failing(text: str) -> None:
        raise ValueError("no such bill")

    with app:
        jms_broker.send("orders", "no JSON")
        jms_broker.send("bills", "x")
        dead(jms_broker, "bad orders")
        (letter,) = dead(jms_broker)
        assert app.status().listeners[1].failed == 2
    assert letter.get_string_property(DEAD_LETTER_REASON) == "rejected after 2 deliveries"


def test_a_listener_of_the_dead_letter_queue_does_not_turn_in_circles(jms_broker: JMSBroker) -> None:
    app = App(max_redeliveries=2, redelivery_delay=0.01)

    @app.listener("DLQ", transacted=True)
    def listener(order: Order) -> None: ...

    with app:
        jms_broker.send("DLQ", "no JSON")
        eventually(lambda: app.status().listeners[0].handled >= 3)
    assert len(jms_broker.messages("DLQ")) == 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ValueError("no"), asyncio.CancelledError()]
)
@pytest.mark.parametrize("transacted", [False, True])
def test_whatever_a_listener_raises_its_message_comes_again(
    jms_broker: JMSBroker, is_async: bool, error: BaseException, transacted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app, heard = App(redelivery_delay=0.01), Heard()

    def fail(message: TextMessage) -> None:
        heard.append((message.text, message.jms_redelivered))
        if len(heard) == 1:
            raise error

    async def fail_later(message: TextMessage) -> None:
        await asyncio.sleep(0)
        fail(message)

    app.listener("orders", transacted=transacted)(fail_later if is_async else fail)
    with app:
        jms_broker.send("orders", "a")
        heard.wait(2)
        jms_broker.send("orders", "b")
        heard.wait(3)
        eventually(lambda: app.status().listeners[0].handled == 3)
        assert app.status().listeners[0].failed == 1
    assert heard == [("a", False), ("a", True), ("b", False)]
    assert jms_broker.messages("orders") == []
    assert "ended a consumer" not in caplog.text


def test_a_result_that_cannot_be_converted_fails_like_the_listener(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(max_redeliveries=1, redelivery_delay_first=0.01)

    @app.listener("orders", send_to="out")
    def listener(text: str, session: Session) -> object:
        session.create_producer(Queue("log")).send(text)
        return object()

    with app:
        jms_broker.send("orders", "x")
        dead(jms_broker)
    assert "object cannot be written as JSON" in caplog.text
    assert texts(jms_broker, "log") == texts(jms_broker, "out") == []


def test_a_result_without_destination_is_dropped_and_told_once(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture
) -> None:
    app = App()

    @app.listener("orders")
    def listener(text: str) -> str:
        return text

    with app:
        jms_broker.send("orders", "a", "b")
        eventually(lambda: app.status().listeners[0].handled == 2)
    assert caplog.text.count("there is no JMSReplyTo and no send_to") == 1


# ---- error handlers


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_error_handler_may_dead_letter_at_once(jms_broker: JMSBroker, mode: dict[str, Any]) -> None:
    app, seen = App(), Heard()

    def decide(error: BaseException, message: Message) -> Decision:
        seen.append((str(error), message.get_body(str)))
        return Decision.DEAD_LETTER

    @app.listener("orders", on_error=decide, redelivery={"delay": 3600}, **mode)
    def listener(text: str, session: Session) -> None:
        if mode.get("transacted"):
            session.create_producer(Queue("log")).send("must not be seen")
        raise ValueError(f"no {text}")

    with app:
        jms_broker.send("orders", "x")
        (letter,) = dead(jms_broker)
        eventually(lambda: jms_broker.messages("orders") == [])
        eventually(lambda: app.status().listeners[0].handled == 1)
        assert app.status().listeners[0].dead_lettered == 1
    assert letter.get_string_property(DEAD_LETTER_REASON) == "ValueError: no x"
    assert letter.get_body(str) == "x"
    assert seen == [("no x", "x")]
    assert texts(jms_broker, "log") == []


class WordlessError(Exception):
    """Its text is not to be had."""

    def __str__(self) -> str:
        raise LookupError("no words")


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_error_without_words_is_dead_lettered_as_well(jms_broker: JMSBroker, mode: dict[str, Any]) -> None:
    app = App()

    @app.listener("orders", on_error=lambda error, message: Decision.DEAD_LETTER, **mode)
    def listener(text: str) -> None:
        raise WordlessError

    with app:
        jms_broker.send("orders", "x")
        (letter,) = dead(jms_broker)
    assert letter.get_string_property(DEAD_LETTER_REASON) == "WordlessError: "


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_message_whose_failure_cannot_be_told_is_not_settled_with_the_next(
    jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch, mode: dict[str, Any]
) -> None:
    def refuse(worker: Worker, error: BaseException) -> None:
        raise RuntimeError("as a filter of the log or an exporter of spans may")

    monkeypatch.setattr(Worker, "_tell_failed", refuse)
    app, heard = App(redelivery_delay=0.01), Heard()

    @app.listener("orders", **mode)
    def listener(text: str, session: Session) -> None:
        if mode.get("transacted"):
            session.create_producer(Queue("log")).send(text)
        heard.append(text)
        if len(heard) == 1:
            raise ValueError

    with app:
        jms_broker.send("orders", "a", "b")
        assert sorted(heard.wait(3)) == ["a", "a", "b"]
    assert sorted(map(str, texts(jms_broker, "log"))) == (["a", "b"] if mode.get("transacted") else [])


def test_an_error_handler_may_accept(jms_broker: JMSBroker) -> None:
    app = App()

    @app.listener("orders", on_error=lambda error, message: Decision.ACCEPT)
    def listener(text: str, session: Session) -> None:
        session.create_producer(Queue("log")).send("seen")
        raise ValueError

    with app:
        jms_broker.send("orders", "x")
        eventually(lambda: texts(jms_broker, "log") == ["seen"])
    assert jms_broker.messages("orders") == jms_broker.messages("DLQ") == []


@pytest.mark.parametrize("handler", [lambda error, message: None, lambda error: None], ids=["none", "raises"])
def test_otherwise_the_message_comes_again(
    jms_broker: JMSBroker, handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app, heard = App(redelivery_delay_first=0.01), Heard()

    @app.listener("orders", on_error=handler)
    def listener(text: str) -> None:
        heard.append(text)
        if len(heard) == 1:
            raise ValueError

    with app:
        jms_broker.send("orders", "x")
        heard.wait(2)
    assert ("the error handler of listener" in caplog.text) == (handler.__code__.co_argcount == 1)


# ---- connections


def test_after_a_cut_messages_come_again_and_replies_arrive(jms_broker: JMSBroker) -> None:
    app, heard = App(reconnect_delay=0.01), Heard()

    @app.listener("orders")
    def listener(text: str) -> str:
        heard.append(text)
        if len(heard) == 1:
            jms_broker.cut()
        return "done"

    with app:
        jms_broker.send("orders", "x")
        heard.wait(2)
        eventually(lambda: app.status().state == "connected")
        reply = request(jms_broker, Queue("orders"), "y")
        eventually(lambda: jms_broker.messages("orders") == [])
    assert reply is not None
    assert reply.get_body(str) == "done"


def test_a_call_over_its_deadline_is_told(jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture) -> None:
    app, go = App(), threading.Event()

    @app.listener("orders", deadline=0.1)
    def listener(text: str) -> None:
        go.wait(20)

    with app:
        jms_broker.send("orders", "x")
        eventually(lambda: app.status().is_stuck)
        eventually(lambda: "is over its deadline of 0.1 s" in caplog.text)
        assert not app.status().is_ready
        go.set()
        eventually(lambda: app.status().is_ready)


def test_a_listener_that_blocks_the_loop_is_told(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jmsbridge.app.container._BLOCKED", 1.5)
    app, go = App(), threading.Event()

    @app.listener("orders")
    async def listener(text: str) -> None:
        go.wait(20)

    with app:
        jms_broker.send("orders", "x")
        eventually(lambda: "a listener blocks the event loop" in caplog.text)
        assert app.status().loop_blocked > 1
        go.set()
        eventually(lambda: app.status().loop_blocked == 0)
    assert "go.wait(20)" in caplog.text


def test_a_consumer_that_the_broker_ends_is_replaced(jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    def listener(text: str) -> None:
        heard.append(text)

    with app:
        container = app._container
        assert container is not None
        (worker,) = container.groups[0].workers
        consumer = worker._consumer
        assert consumer is not None
        consumer._receiver.end(jmsbridge.JMSException("the queue was deleted"))
        eventually(lambda: "the broker has ended a consumer" in caplog.text)
        jms_broker.send("orders", "x")
        heard.wait(1)


def test_callbacks_on_the_loop_that_end_it_do_not(jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture) -> None:
    app, heard = App(), Heard()

    def leave() -> None:
        raise SystemExit(1)

    @app.listener("orders")
    async def listener(text: str) -> None:
        asyncio.get_running_loop().call_soon(leave)
        await asyncio.sleep(0.01)
        heard.append(text)

    with app, caplog.at_level(logging.ERROR):
        jms_broker.send("orders", "a", "b")
        heard.wait(2)
    assert "a callback on the event loop of the listeners raised" in caplog.text


@rule("CL-7")
@pytest.mark.parametrize("close", [Session.close, lambda s: s.connection.close(), lambda s: s.connection.stop()])
@pytest.mark.parametrize("how", ["plain", "async", "awaited"])
def test_what_would_wait_for_the_listener_itself_is_refused(jms_broker: JMSBroker, how: str, close: Any) -> None:
    app, heard = App(), Heard()

    def listener(text: str, session: Session) -> None:
        with pytest.raises(IllegalState, match="is not allowed in a") as raised:
            close(session)
        heard.append(raised.value)

    async def later(text: str, session: Session) -> None:
        listener(text, session)

    def wrapped(text: str, session: Session) -> Any:
        return later(text, session)

    app.listener("orders")({"plain": listener, "async": later, "awaited": wrapped}[how])
    with app:
        jms_broker.send("orders", "a", "b")
        heard.wait(2)
    assert jms_broker.messages("orders") == []


@rule("CL-5")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_listener_may_use_its_session_while_that_is_closed(jms_broker: JMSBroker, is_async: bool) -> None:
    app, heard = App(), Heard()

    def listener(text: str, session: Session) -> None:
        assert app._container is not None
        (worker,) = app._container.groups[0].workers
        threading.Thread(target=worker.close).start()
        eventually(lambda: session._core.life.state is State.CLOSING)
        session.create_producer(Queue("audit")).send(text)
        heard.append(text)

    async def later(text: str, session: Session) -> None:
        listener(text, session)

    app.listener("orders")(later if is_async else listener)
    with app:
        jms_broker.send("orders", "a")
        heard.wait(1)
        eventually(lambda: texts(jms_broker, "audit") == ["a"])
    assert jms_broker.messages("orders") == []
