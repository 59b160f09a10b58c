"""Listeners of an application: parameters, results, transactions, concurrency."""

import asyncio
import contextvars
import threading
from typing import Annotated, Any, TypedDict

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, Message, Queue, Session, Template, TextMessage, Topic, aio
from jmsbridge.app import App, JsonConverter, Property
from jmsbridge.errors import ConfigurationError, IllegalState
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard, Order, Receipt, eventually, request, texts

CONVERTER = JsonConverter({"Order": Order, "Receipt": Receipt})
ORDERS = Queue("orders")


class Line(TypedDict):
    article: str


def test_nothing_runs_before_start() -> None:
    before = threading.active_count()
    app = App("rabbitmq://nowhere.invalid")

    @app.listener("orders")
    def listener(message: Message) -> None: ...

    assert threading.active_count() == before
    assert app.status().state == "closed"
    assert app.stop() == ()


def test_parameters_by_annotation(jms_broker: JMSBroker) -> None:
    app, heard = App(converter=CONVERTER), Heard()

    @app.listener("orders", name="orders")
    def listener(
        order: Order,
        message: Message,
        session: Session,
        tenant: Annotated[str, Property("tenant")],
        count: Annotated[int | None, Property("count")],
        *,
        level: Annotated[float, Property("level")] = 0.5,
        other: str = "its default",
    ) -> None:
        heard.append((order, message.get_string_property("_type"), session.transacted, tenant, count, level, other))

    with app:
        with_all = jms_broker.context()
        message = CONVERTER.to_message(with_all, Order(7))
        with_all.create_producer().set_property("tenant", "acme").set_property("count", 3).send(ORDERS, message)
        message = CONVERTER.to_message(with_all, Order(8))
        with_all.create_producer().set_property("tenant", "b").set_property("level", 2.5).send(ORDERS, message)
        heard.wait(2)
    assert heard[0] == (Order(7), "Order", True, "acme", 3, 0.5, "its default")
    assert heard[1][3:6] == ("b", None, 2.5)


def test_a_whole_number_is_a_float_and_null_is_none_where_that_is_allowed(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    def listener(
        level: Annotated[float, Property("level")], count: Annotated[int | None, Property("count")] = 5
    ) -> None:
        heard.append((level, count))

    with app:
        session = jms_broker.connect().create_session()
        message = session.create_message()
        message.set_int_property("level", 3)
        message.set_object_property("count", None)
        session.create_producer(ORDERS).send(message)
        assert heard.wait(1) == [(3.0, None)]
        assert type(heard[0][0]) is float
        message.set_boolean_property("level", True)
        session.create_producer(ORDERS).send(message)
        eventually(lambda: len(jms_broker.messages("DLQ")) == 1)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_result_goes_to_the_reply_destination(jms_broker: JMSBroker, is_async: bool) -> None:
    app = App(converter=CONVERTER)

    def answer(order: Order) -> Receipt:
        return Receipt(order.number)

    async def answer_later(order: Order) -> Receipt:
        await asyncio.sleep(0)
        return Receipt(order.number)

    app.listener("orders")(answer_later if is_async else answer)
    with app:
        message = CONVERTER.to_message(jms_broker.context(), Order(7))
        message.jms_correlation_id = "c-1"
        reply = request(jms_broker, ORDERS, message)
    assert reply is not None
    assert CONVERTER.from_message(reply) == Receipt(7)
    assert reply.jms_correlation_id == "c-1"
    assert answer(Order(1)) == Receipt(1)  # the decorated function can be called as it is


def test_a_reply_without_correlation_id_gets_the_message_id(jms_broker: JMSBroker) -> None:
    app, ids = App(), Heard()

    @app.listener("orders")
    def listener(message: TextMessage) -> str:
        ids.append(message.jms_message_id)
        return "thanks"

    with app:
        reply = request(jms_broker, ORDERS, "x")
    assert reply is not None
    assert reply.jms_correlation_id == ids[0]


def test_a_result_goes_to_a_named_destination(jms_broker: JMSBroker) -> None:
    app = App()

    @app.listener("in", send_to="between")
    def first(text: str) -> str:
        return text + "1"

    @app.listener("between", send_to=Queue("out"))
    async def second(text: str) -> str:
        return text + "2"

    with app:
        jms_broker.send("in", "a", "b")
        eventually(lambda: texts(jms_broker, "out") == ["a12", "b12"])


def test_what_a_listener_sends_and_consumes_is_one_transaction(jms_broker: JMSBroker) -> None:
    app, tries = App(max_redeliveries=2, redelivery_delay=0.01), Heard()

    @app.listener("orders")
    def listener(text: str, session: Session) -> str:
        session.create_producer(Queue("log")).send(f"try {len(tries)}")
        tries.append(text)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "done"

    with app:
        reply = request(jms_broker, ORDERS, "x")
        assert isinstance(reply, TextMessage)
    assert reply.text == "done"
    assert tries == ["x"] * 3
    assert texts(jms_broker, "log") == ["try 2"]


def test_a_listener_that_sends_nothing_acknowledges_when_it_returns(jms_broker: JMSBroker) -> None:
    app, heard = App(max_redeliveries=3, redelivery_delay=0.01), Heard()

    @app.listener("orders")
    def listener(message: TextMessage) -> None:
        heard.append((message.text, message.jms_redelivered))
        if len(heard) == 1:
            raise ValueError("once")

    assert app.listeners[0].mode == Session.AUTO_ACKNOWLEDGE
    with app:
        jms_broker.send("orders", "x")
        heard.wait(2)
        eventually(lambda: app.status().listeners[0].handled == 2)
    assert heard == [("x", False), ("x", True)]
    assert jms_broker.messages("orders") == []


@pytest.mark.parametrize("fails", [False, True])
def test_client_acknowledgement_is_by_the_container(jms_broker: JMSBroker, fails: bool) -> None:
    app, heard = App(redelivery_delay=0.01), Heard()

    @app.listener("orders", acknowledge=CLIENT_ACKNOWLEDGE)
    def listener(message: TextMessage) -> None:
        heard.append(message.jms_redelivered)
        if fails and len(heard) == 1:
            raise ValueError("once")

    with app:
        jms_broker.send("orders", "x")
        heard.wait(1 + fails)
        eventually(lambda: app.status().listeners[0].handled == 1 + fails)
    assert heard == [False, True][: 1 + fails]
    assert jms_broker.messages("orders") == []


def test_each_consumer_has_a_session_of_its_own(jms_broker: JMSBroker) -> None:
    app, all_there = App(), threading.Barrier(4, timeout=10)
    sessions = Heard()

    @app.listener("orders", concurrency=4, prefetch=1)
    def listener(message: Message, session: Session) -> None:
        sessions.append(session)
        all_there.wait()  # wait: has a timeout of its own

    with app:
        jms_broker.send("orders", *"abcd")
        sessions.wait(4)
        eventually(lambda: app.status().listeners[0].handled == 4)
    assert len({id(each) for each in sessions}) == 4
    assert not all_there.broken


def test_concurrency_follows_the_backlog(jms_broker: JMSBroker) -> None:
    app, go = App(), threading.Event()

    @app.listener("orders", concurrency=(1, 3))
    def listener(message: Message) -> None:
        go.wait(20)

    with app:
        assert app.status().listeners[0].consumers == 1
        jms_broker.send("orders", *"abcdefgh")
        eventually(lambda: app.status().listeners[0].consumers == 3, 15)
        go.set()
        eventually(lambda: app.status(depths=True).listeners[0].depth == 0)


def test_consumers_that_have_nothing_to_do_are_closed(jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jmsbridge.app.groups._IDLE", 0.1)
    app, go = App(), threading.Event()

    @app.listener("orders", concurrency=(1, 2))
    def listener(message: Message) -> None:
        go.wait(20)

    with app:
        jms_broker.send("orders", *"abcd")
        eventually(lambda: app.status().listeners[0].consumers == 2, 15)
        go.set()
        eventually(lambda: app.status().listeners[0].consumers == 1, 15)
        assert app.status().listeners[0].handled == 4  # those of the closed consumer still count
        jms_broker.send("orders", "e")
        eventually(lambda: app.status().listeners[0].handled == 5)


def test_a_selector_and_a_shared_subscription(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("topic:news", subscription="audit", concurrency=2, selector="kind = 'a'")
    def listener(text: str) -> None:
        heard.append(text)

    with app:
        context = jms_broker.context()
        for kind in "abab":
            context.create_producer().set_property("kind", kind).send(Topic("news"), kind)
        heard.wait(2)
    context.create_producer().set_property("kind", "a").send(Topic("news"), "while it was away")
    with app:
        heard.wait(3)
    assert sorted(heard) == ["a", "a", "while it was away"]


def test_an_unshared_subscription_and_one_that_is_not_durable(jms_broker: JMSBroker) -> None:
    app, heard = App(client_id="me"), Heard()

    @app.listener("topic:news", subscription="mine", shared=False)
    def durable(text: str) -> None:
        heard.append(("durable", text))

    @app.listener("topic:news", subscription="ours", durable=False)
    def fleeting(text: str) -> None:
        heard.append(("fleeting", text))

    @app.listener("topic:news")
    def plain(text: str) -> None:
        heard.append(("plain", text))

    with app:
        jms_broker.send(Topic("news"), "x")
        heard.wait(3)
    assert sorted(heard) == [("durable", "x"), ("fleeting", "x"), ("plain", "x")]


def test_async_listeners_run_on_one_loop_at_once(jms_broker: JMSBroker) -> None:
    app, loops = App(), Heard()
    together = asyncio.Event()

    @app.listener("orders", concurrency=3, prefetch=1)
    async def listener(message: Message) -> None:
        loops.append(asyncio.get_running_loop())
        if len(loops) == 3:
            together.set()
        await asyncio.wait_for(together.wait(), 10)

    with app:
        jms_broker.send("orders", *"abc")
        eventually(lambda: app.status().listeners[0].handled == 3)
    assert len(set(loops)) == 1
    assert app.status().state == "closed"


@pytest.mark.parametrize("awaits", [False, True])
def test_context_variables_of_a_call_end_with_it(jms_broker: JMSBroker, awaits: bool) -> None:
    app, heard = App(), Heard()
    customer: contextvars.ContextVar[str] = contextvars.ContextVar("customer", default="")

    async def later(before: str) -> None:
        heard.append((before, customer.get()))

    @app.listener("orders")
    def listener(text: str) -> Any:
        before = customer.get()
        customer.set(text)
        return later(before) if awaits else heard.append((before, customer.get()))

    with app:
        jms_broker.send("orders", "a", "b")
        assert heard.wait(2) == [("", "a"), ("", "b")]


def test_an_application_can_be_started_again(jms_broker: JMSBroker) -> None:
    app, heard = App(), Heard()

    @app.listener("orders")
    async def listener(text: str) -> None:
        heard.append(text)

    for count in (1, 2):
        with app:
            with pytest.raises(IllegalState, match="is running"):
                app.start()
            jms_broker.send("orders", "x")
            heard.wait(count)
    assert "closed" in repr(app)


def test_a_typed_dict_as_result(jms_broker: JMSBroker) -> None:
    app = App(converter=JsonConverter({"Line": Line}))

    @app.listener("orders")
    def listener(text: str) -> Line:
        return {"article": text}

    with app:
        reply = request(jms_broker, ORDERS, "pen")
    assert isinstance(reply, TextMessage)
    assert (reply.text, reply.get_string_property("_type")) == ('{"article":"pen"}', "Line")


class Handler:
    """An object that is a listener."""

    def __init__(self) -> None:
        self.heard = Heard()

    async def __call__(self, text: str) -> None:
        self.heard.append(text)


def test_an_object_with_call_can_be_a_listener(jms_broker: JMSBroker) -> None:
    app, handler = App(), Handler()
    app.listener("orders")(handler)
    assert app.listeners[0].name == "Handler"
    with app:
        jms_broker.send("orders", "x")
        handler.heard.wait(1)


# ---- mistakes in a definition


def _two_bodies(a: Order, b: Receipt) -> None: ...


def _many(*messages: Message) -> None: ...


def _list_property(a: Annotated[list[str], Property("a")]) -> None: ...


def _unreadable(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _strange(a: threading.Event) -> None: ...


def _async_session(order: Order, session: aio.Session) -> None: ...


class Shop:
    def method(self, order: Order) -> None: ...


def _good(a: Order) -> None: ...


async def _later(error: BaseException, message: Message) -> None: ...


def _yields(message: Message) -> Any:
    yield message


async def _yields_later(message: Message) -> Any:
    yield message


def _default_body(text: str = "x") -> None: ...


def _only_by_place(message: Message, rush: bool = False, a: Annotated[str, Property("a")] = "", /) -> None: ...


@pytest.mark.parametrize(
    ("function", "settings", "words"),
    [
        (_two_bodies, {}, "several parameters for the body: a, b"),
        (_many, {}, r"cannot have \*messages"),
        (_list_property, {}, "a property is read as str, int, float, bool or Any"),
        (_unreadable, {}, "an annotation of listener _unreadable cannot be read"),
        (_strange, {}, "parameter 'a' of listener _strange: Event cannot be read from JSON"),
        (_async_session, {}, r"_async_session is jmsbridge\.aio\.session\.Session"),
        (Shop.method, {}, r"listener Shop.method is a method without its object: .*\(…\)\(the_object.method\)"),
        (Shop, {}, "Shop'> cannot be a listener: it is a class"),
        (5, {}, "5 cannot be a listener"),
        (_good, {"concurrency": 0}, r"concurrency must be a number, or \(from, to\), not 0"),
        (_good, {"concurrency": (3, 2)}, "concurrency must be"),
        (_good, {"concurrency": "1-8"}, r"concurrency must be a number, or \(from, to\), not '1-8'"),
        (_good, {"concurrency": (1,)}, "concurrency must be"),
        (_good, {"concurrency": None}, "concurrency must be"),
        (_good, {"concurrency": True}, "concurrency must be"),
        (_good, {"prefetch": -1}, "listener _good: prefetch must be a number of 0 or more, not -1"),
        (_good, {"destination": "topic:t", "concurrency": 2}, "each get every message"),
        (_good, {"subscription": "s"}, "only a topic has subscriptions"),
        (_good, {"destination": "topic:t", "subscription": ""}, "listener _good: '' is not a subscription name"),
        (
            _good,
            {"destination": "topic:t", "subscription": "s", "durable": False, "shared": False},
            "a subscription that is neither durable nor shared has no name",
        ),
        (_good, {"send_to": "q"}, "returns nothing to send to q"),
        (_good, {"transacted": True, "acknowledge": 1}, "a transacted listener has no acknowledge mode"),
        (_good, {"acknowledge": 77}, "77 is not a session mode"),
        (_good, {"selector": "a == 3"}, "'a == 3': invalid selector: expected an operand"),
        (_good, {"on_error": 5}, "on_error must be a plain function"),
        (_good, {"on_error": _later}, "on_error must be a plain function"),
        (_yields, {}, "has a yield"),
        (_yields_later, {}, "has a yield"),
        (_default_body, {}, "would always have its default"),
        (_only_by_place, {}, "cannot be filled after one with a default"),
    ],
)
def test_mistakes_are_told_when_the_listener_is_defined(function: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        App().listener(**{"destination": "orders", **settings})(function)


def test_a_method_of_an_object_is_a_listener() -> None:
    app = App()
    app.listener("orders")(Shop().method)
    assert [each.name for each in app.listeners] == ["Shop.method"]


@pytest.mark.parametrize("converter", [JsonConverter, object(), 5])
def test_what_cannot_convert_is_refused(converter: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a converter"):
        App(converter=converter)
    with pytest.raises(ConfigurationError, match="is not a converter"):
        Template(converter=converter)


@pytest.mark.parametrize("types", [[Order], {3: Order}, "Order"])
def test_types_without_names_are_refused(types: Any) -> None:
    with pytest.raises(ConfigurationError, match="types must be a mapping from names to types"):
        JsonConverter(types)


def test_mistakes_that_show_at_start(jms_broker: JMSBroker) -> None:
    with pytest.raises(ConfigurationError, match="has no listeners"):
        App().start()
    twice = App()
    twice.listener("orders", redelivery={"max_redeliveries": 1})(_good)
    twice.listener("orders", redelivery={"max_redeliveries": 2})(_good)
    with pytest.raises(ConfigurationError, match="two listeners of queue:orders have different redelivery policies"):
        twice.start()
    wrong = App(jms_broker.url, redelivery=5)
    wrong.listener("orders", redelivery={"max_redeliveries": 1})(_good)
    with pytest.raises(ConfigurationError, match=r"'redelivery' .* must be a table"):
        wrong.start()
    owned = App()
    owned.listener("topic:t", subscription="s", shared=False)(_good)
    with pytest.raises(ConfigurationError, match="set the option client_id"):
        owned.start()
    assert owned.status().state == "closed"
