"""``Template`` on the embedded broker: single calls from any thread."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypedDict

import msgspec
import pytest

import jmsbridge
from jmsbridge import (
    IllegalState,
    InvalidArgument,
    Message,
    MessageFormat,
    Queue,
    ResourceAllocation,
    Template,
    TextMessage,
    Topic,
    TransactionRolledBack,
)
from jmsbridge.app import JsonConverter


class Order(msgspec.Struct):
    number: int


class Page(TypedDict):
    rows: list[str]


@pytest.fixture
def template(target: str) -> Iterator[Template]:
    with Template(target, sessions=4) as made:
        yield made


def text(template: Template, queue: str = "orders", timeout: float = 1) -> str | None:
    return template.receive(queue, str, timeout=timeout)


def test_a_message_is_sent_and_received(template: Template) -> None:
    template.send("orders", "one", properties={"rush": True}, correlation_id="c1", priority=7, time_to_live=60)
    message = template.receive("queue:orders", timeout=1)
    assert isinstance(message, TextMessage)
    assert (message.text, message.get_boolean_property("rush"), message.jms_correlation_id) == ("one", True, "c1")
    assert (message.jms_priority, message.jms_expiration > 0) == (7, True)
    assert template.receive("orders", timeout=0) is None


def test_values_are_converted(template: Template) -> None:
    template.send("orders", Order(7))
    assert template.receive("orders", Order, timeout=1) == Order(7)


def test_the_type_of_a_typed_dict_is_said(target: str) -> None:
    with Template(target, converter=JsonConverter({"Page": Page})) as template:
        template.send("pages", Page(rows=["a"]), sent_as=Page)
        assert template.receive("pages", Page, timeout=5) == {"rows": ["a"]}
        with pytest.raises(MessageFormat, match="sent_as"):
            template.send("pages", Page(rows=["a"]))
        asked = template.request_async("asked", Page(rows=["b"]), timeout=5, sent_as=Page)
        request = template.receive("asked", timeout=5)
        assert isinstance(request, TextMessage)
        assert request.jms_reply_to is not None
        assert (request.text, request.get_string_property("_type")) == ('{"rows":["b"]}', "Page")
        template.send(request.jms_reply_to, "thanks", correlation_id=request.jms_correlation_id)
        assert isinstance(asked.result(5), TextMessage)


def test_a_message_of_the_caller_keeps_what_it_has(template: Template) -> None:
    message = TextMessage("one")
    message.set_object_property("shop", "north")
    template.send(Queue("orders"), message, properties={"rush": 1}, reply_to="answers")
    received = template.receive("orders", timeout=1)
    assert received is not None
    assert received.get_string_property("shop") == "north"
    assert received.get_int_property("rush") == 1
    assert received.jms_reply_to == Queue("answers")


def test_a_delay_holds_for_one_send_only(template: Template) -> None:
    template.send("orders", "later", delivery_delay=0.3)
    template.send("orders", "now")
    assert text(template, timeout=0.1) == "now"
    assert text(template, timeout=0.05) is None
    assert text(template) == "later"


def test_a_receive_takes_one_message_and_holds_no_other(template: Template, target: str) -> None:
    for number in range(3):
        template.send("orders", f"m{number}")
    assert text(template) == "m0"
    with jmsbridge.context(target) as other:
        consumer = other.create_consumer(Queue("orders"))
        rest = [consumer.receive(timeout=1), consumer.receive(timeout=1)]
    assert [(each.text, each.jms_redelivered) for each in rest if isinstance(each, TextMessage)] == [
        ("m1", False),
        ("m2", False),
    ]


def test_a_receive_that_timed_out_leaves_later_messages_to_others(template: Template, target: str) -> None:
    assert text(template, timeout=0.05) is None
    template.send("orders", "one")
    with jmsbridge.context(target) as other:
        message = other.create_consumer(Queue("orders")).receive(timeout=1)
    assert message is not None
    assert not message.jms_redelivered


def test_what_cannot_be_converted_stays_in_the_queue(template: Template, target: str) -> None:
    template.send("orders", "no JSON")
    with pytest.raises(MessageFormat):
        template.receive("orders", Order, timeout=1)
    with jmsbridge.context(target) as other:
        message = other.create_consumer(Queue("orders")).receive(timeout=1)
    assert isinstance(message, TextMessage)
    assert message.text == "no JSON"


def test_a_selector_chooses(template: Template) -> None:
    template.send("orders", "slow", properties={"rush": False})
    template.send("orders", "fast", properties={"rush": True})
    assert template.receive("orders", str, selector="rush = TRUE", timeout=1) == "fast"
    assert text(template) == "slow"


def test_a_topic_shows_what_is_sent_during_the_call(template: Template) -> None:
    template.send("topic:news", "before")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(template.receive, Topic("news"), str, timeout=5)
        while not wait([waiting], timeout=0.01).done:
            template.send("topic:news", "during")
    assert waiting.result() == "during"


def test_browsing_leaves_the_messages(template: Template) -> None:
    template.send("orders", "one")
    template.send("orders", "two")
    assert [each.text for each in template.browse("orders") if isinstance(each, TextMessage)] == ["one", "two"]
    assert text(template) == "one"


def test_a_browser_that_was_left_gives_its_session_back(target: str) -> None:
    with Template(target, sessions=1, send_timeout=0.2) as template:
        template.send("orders", "one")
        shown = template.browse("orders")
        next(shown)
        with pytest.raises(ResourceAllocation, match="sessions=…"):
            template.send("orders", "two")
        shown.close()  # type: ignore[attr-defined]
        template.send("orders", "two")


def test_a_transaction_takes_effect_at_its_end(template: Template) -> None:
    template.send("orders", "one")
    with template.in_transaction() as transaction:
        assert transaction.receive("orders", str, timeout=1) == "one"
        transaction.send("bills", "bill")
        assert text(template, "bills", timeout=0) is None
    assert text(template, "bills") == "bill"
    assert text(template, timeout=0) is None
    with pytest.raises(IllegalState, match="has ended"):
        transaction.send("bills", "another")


def test_a_transaction_that_raises_has_no_effect(template: Template, target: str) -> None:
    template.send("orders", "one")
    with pytest.raises(ZeroDivisionError), template.in_transaction() as transaction:
        transaction.receive("orders", timeout=1)
        transaction.send("bills", "bill")
        raise ZeroDivisionError
    assert text(template, "bills", timeout=0.05) is None
    with jmsbridge.context(target) as other:  # the message is not kept for the template's next transaction
        message = other.create_consumer(Queue("orders")).receive(timeout=1)
    assert isinstance(message, TextMessage)
    assert message.text == "one"


def test_a_transaction_does_not_lose_what_could_not_be_converted(template: Template) -> None:
    template.send("orders", "no JSON")
    with pytest.raises(TransactionRolledBack, match="stays in the queue"), template.in_transaction() as transaction:
        transaction.send("bills", "bill")
        with pytest.raises(MessageFormat):
            transaction.receive("orders", Order, timeout=1)
    assert text(template, "bills", timeout=0.05) is None
    assert text(template) == "no JSON"


def test_what_a_transaction_browses_ends_with_it(template: Template) -> None:
    """Its session then belongs to another thread."""
    for number in range(3):
        template.send("orders", f"m{number}")
    with template.in_transaction() as transaction:
        assert [each.jms_type for each in transaction.browse("orders")] == [None] * 3
        shown = transaction.browse("orders")
        next(shown)
    with pytest.raises(IllegalState, match="has ended"):
        next(shown)


class Faulty(JsonConverter):
    def from_message(self, message: Message, type: Any = None) -> Any:
        raise KeyError("customer")


@pytest.mark.parametrize("transacted", [False, True])
def test_what_a_converter_fails_on_in_another_way_stays_in_the_queue(target: str, transacted: bool) -> None:
    with Template(target, converter=Faulty()) as template:
        template.send("orders", "one")
        with pytest.raises(KeyError):
            if transacted:
                with template.in_transaction() as transaction:
                    transaction.receive("orders", Order, timeout=1)
            else:
                template.receive("orders", Order, timeout=1)
        message = template.receive("orders", timeout=1)
        assert isinstance(message, TextMessage)
        assert (message.text, message.jms_redelivered) == ("one", False)


def serve(target: str, until: threading.Event) -> None:
    with jmsbridge.context(target) as context:
        consumer, producer = context.create_consumer(Queue("questions")), context.create_producer()
        while not until.is_set():
            question = consumer.receive(timeout=0.05)
            if isinstance(question, TextMessage):
                assert question.jms_reply_to is not None
                answer = TextMessage(f"{question.text}!")
                answer.jms_correlation_id = question.jms_correlation_id
                producer.send(question.jms_reply_to, answer)


@pytest.fixture
def service(target: str) -> Iterator[None]:
    until = threading.Event()
    thread = threading.Thread(target=serve, args=(target, until))
    thread.start()
    yield
    until.set()
    thread.join()


@pytest.mark.usefixtures("service")
def test_a_request_gets_its_own_reply(template: Template) -> None:
    with ThreadPoolExecutor(20) as threads:
        asked = [threads.submit(template.request, "questions", f"q{n}", str, timeout=10) for n in range(100)]
        assert [each.result() for each in asked] == [f"q{n}!" for n in range(100)]
    reply = template.request("questions", "q", timeout=10)
    assert isinstance(reply, TextMessage)


@pytest.mark.usefixtures("service")
def test_one_thread_has_many_requests_under_way(template: Template) -> None:
    asked: list[Future[str]] = [template.request_async("questions", f"q{n}", str, timeout=10) for n in range(1000)]
    assert [each.result(10) for each in asked] == [f"q{n}!" for n in range(1000)]


def test_a_request_without_reply_says_so(template: Template) -> None:
    with pytest.raises(TimeoutError, match="nobody"):
        template.request("nobody", "q", timeout=0.05)
    future = template.request_async("nobody", "q", timeout=0.05)
    with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        future.result(5)


@pytest.mark.usefixtures("service")
def test_a_late_reply_goes_to_nobody(template: Template) -> None:
    asked = template.request_async("questions", "q", timeout=10)
    asked.cancel()
    assert template.request("questions", "r", str, timeout=10) == "r!"


def test_too_many_requests_are_refused(target: str) -> None:
    with Template(target, max_requests=2) as template:
        waiting = [template.request_async("nobody", "q", timeout=10) for _ in range(2)]
        with pytest.raises(ResourceAllocation, match="max_requests"):
            template.request_async("nobody", "q", timeout=10)
    for future in waiting:
        with pytest.raises(IllegalState, match="closed before the reply"):
            future.result(5)


def test_many_threads_share_it(template: Template) -> None:
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: template.send("orders", f"m{n}"), range(200)))
        got = list(threads.map(lambda _: text(template, timeout=5), range(200)))
    assert sorted(got, key=str) == sorted((f"m{n}" for n in range(200)), key=str)


def test_it_keeps_few_consumers(template: Template) -> None:
    for number in range(40):
        assert text(template, f"q{number}", timeout=0) is None
    opened = template._opened
    assert opened is not None
    assert [len(lent._consumers) for lent in opened.sessions._idle] == [16]


def test_a_closed_template_says_so(target: str) -> None:
    template = Template(target)
    template.close()
    template.close()
    with pytest.raises(IllegalState, match="template is closed"):
        template.send("orders", "one")


def test_it_opens_a_new_connection_after_one_was_lost_for_good(template: Template) -> None:
    template.send("orders", "one")
    assert template._opened is not None
    template._opened.connection.close()
    assert text(template) == "one"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Template(f"embedded:{tmp_path_factory.mktemp('fork') / 'orders.db'}") as template:
        template.send("orders", "parent")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                template.send("orders", "child")
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [text(template), text(template)] == ["parent", "child"]


def test_wrong_arguments_are_named(target: str) -> None:
    with pytest.raises(InvalidArgument, match="sessions must be 1 or more"):
        Template(target, sessions=0)
    with pytest.raises(InvalidArgument, match="max_requests"):
        Template(target, max_requests=0)
