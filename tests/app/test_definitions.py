"""How listeners may be written: decorators around them, defaults, limits, results that are still to be awaited."""

import asyncio
import functools
import threading
from collections.abc import Awaitable
from typing import Annotated, Any, TypedDict

import msgspec
import pytest

from jmsbridge import Message, Queue, Template, TextMessage
from jmsbridge.app import App, Decision, JsonConverter, Property
from jmsbridge.errors import ConfigurationError, IllegalState, InvalidArgument, InvalidDestination
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard, eventually, request, texts

ORDERS = Queue("orders")
AT_ONCE = {"max_redeliveries": 1, "delay": 0.0}


@pytest.mark.parametrize("name", ["orders?consumer.prefetchSize=1", "orders,audit", "topic:news.>"])
def test_a_name_with_a_special_meaning_in_java_is_refused_as_a_session_does(name: str) -> None:
    app = App()
    with pytest.raises(InvalidDestination, match="has a special meaning"):
        app.listener(name)(lambda message: None)
    with Template("embedded:") as template:
        with pytest.raises(InvalidDestination, match="has a special meaning"):
            template.send(name, "x")
        template.send(Queue("orders,audit", literal=True), "y")


def test_a_plain_function_around_an_async_one_is_awaited(jms_broker: JMSBroker) -> None:
    app = App()

    async def work(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    def traced(text: str) -> Awaitable[str]:
        return work(text)

    app.listener("orders")(traced)
    with app:
        reply = request(jms_broker, ORDERS, "pen")
    assert isinstance(reply, TextMessage)
    assert reply.text == "PEN"


def test_a_result_that_nobody_runs_is_a_failure(jms_broker: JMSBroker) -> None:
    app = App(redelivery={"*": AT_ONCE})

    def lines() -> Any:
        yield "one"

    app.listener("orders", name="lines")(lambda message: lines())
    with app:
        jms_broker.send("orders", "m")
        eventually(lambda: texts(jms_broker, "DLQ") == ["m"])


def test_a_parameter_after_one_that_keeps_its_default(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    def listener(text: str, flag: bool = False, tenant: Annotated[str, Property("t")] = "none") -> None:
        heard.append((text, flag, tenant))

    with app:
        session = jms_broker.connect().create_session()
        message = session.create_text_message("m")
        message.set_string_property("t", "acme")
        session.create_producer(ORDERS).send(message)
        assert heard.wait(1) == [("m", False, "acme")]


def test_a_partial_function_keeps_its_annotations(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    def listener(text: str, *, times: int) -> None:
        heard.append(text * times)

    app.listener("orders", name="twice")(functools.partial(listener, times=2))
    with app:
        jms_broker.send("orders", "m")
        assert heard.wait(1) == ["mm"]


def test_the_decorator_needs_its_destination() -> None:
    with pytest.raises(ConfigurationError, match=r"write @app.listener\('orders'\)"):

        @App().listener  # type: ignore[arg-type]
        def listener(message: Message) -> None: ...


def test_limits_of_a_body_are_kept(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    def listener(number: Annotated[int, msgspec.Meta(gt=0)]) -> None:
        heard.append(number)

    with app:
        jms_broker.send("orders", "-5")
        jms_broker.send("orders", "5")
        assert heard.wait(1) == [5]
        eventually(lambda: texts(jms_broker, "DLQ") == ["-5"])


class Line(TypedDict):
    article: str


def test_a_typed_dict_or_nothing_as_result(jms_broker: JMSBroker) -> None:
    app = App(converter=JsonConverter({"Line": Line}))

    @app.listener("orders")
    def listener(text: str) -> Line | None:
        return {"article": text}

    with app:
        reply = request(jms_broker, ORDERS, "pen")
    assert reply is not None
    assert reply.get_string_property("_type") == "Line"


def test_an_error_handler_that_returns_no_decision_is_reported(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(redelivery={"*": AT_ONCE})

    def decide(error: BaseException, message: Message) -> Any:
        return "accept"

    @app.listener("orders", on_error=decide)
    def listener(text: str) -> None:
        raise ValueError(text)

    with app:
        jms_broker.send("orders", "m")
        eventually(lambda: texts(jms_broker, "DLQ") == ["m"])
    assert "returned no Decision" in caplog.text
    assert Decision.ACCEPT.value == "accept"


@pytest.mark.parametrize("returns", [str, None])
def test_stop_in_an_async_listener_is_refused(jms_broker: JMSBroker, returns: Any) -> None:
    app, heard, done = App(), Heard(), threading.Event()

    async def listener(text: str) -> Any:
        try:
            app.stop()
        except IllegalState as error:
            heard.append(str(error))
        done.set()

    listener.__annotations__["return"] = returns
    app.listener("orders")(listener)
    with app:
        jms_broker.send("orders", "m")
        assert done.wait(5)
    assert heard == ["stop would wait for its own listener; call request_stop there"]


def test_run_of_a_running_application_is_refused() -> None:
    app = App("embedded:")
    app.listener("orders")(lambda message: None)
    with app, pytest.raises(IllegalState, match="is running"):
        app.run()


def test_a_listener_that_would_not_be_called_is_refused() -> None:
    app = App("embedded:")
    app.listener("orders")(lambda message: None)
    with app, pytest.raises(IllegalState, match="define all listeners before its start"):
        app.listener("bills")(lambda message: None)
    app.listener("bills")(lambda message: None)


def test_a_listener_of_its_own_dead_letter_queue_is_told_so(
    jms_broker: JMSBroker, caplog: pytest.LogCaptureFixture
) -> None:
    app = App()
    app.listener("DLQ", name="letters")(lambda message: None)
    app.listener("orders", name="orders")(lambda message: None)
    with app:
        pass
    assert "listener letters is on its own dead-letter queue" in caplog.text
    assert "listener orders" not in caplog.text


def test_a_template_never_waits_without_end(jms_broker: JMSBroker) -> None:
    with Template(jms_broker.url) as template, pytest.raises(InvalidArgument, match="None is not a duration"):
        template.receive("orders", timeout=None)  # type: ignore[call-overload]
