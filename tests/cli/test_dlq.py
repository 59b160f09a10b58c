"""Dead letters: list, show and return."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

import jmsbridge
from jmsbridge import Connection, Queue
from jmsbridge.cli import moving

Run = Callable[..., Result]


@pytest.fixture
def broker(either_broker: str) -> str:
    return either_broker


REASON, ORIGIN = "JMS_jmsbridge_dead_letter_reason", "JMS_jmsbridge_dead_letter_origin"


@pytest.fixture
def dead(run: Run) -> None:
    """Five dead letters: three of orders, one of a subscription, one of unknown origin."""
    lines: list[dict[str, Any]] = []
    for number, origin in enumerate(("queue:orders", "queue:orders", "queue:bills", "topic:news (reader)")):
        properties = {REASON: "rejected after 7 deliveries", ORIGIN: origin, "n": {"short": number}}
        lines.append({"body": f"m{number}", "properties": properties, "headers": {"jms_priority": 9 - number}})
    lines.append({"body": "lost"})
    assert run("send", "DLQ", "-q", text="\n".join(map(json.dumps, lines))).exit_code == 0


def browsed(run: Run, queue: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("browse", queue).stdout.splitlines()]


def own(message: dict[str, Any]) -> dict[str, Any]:
    """The properties that the application set."""
    return {name: value for name, value in message["properties"].items() if name != "JMSXDeliveryCount"}


@pytest.mark.usefixtures("dead")
def test_list_counts_by_origin_and_reason(run: Run) -> None:
    assert run("dlq", "list").stdout.splitlines() == [
        "2\tqueue:orders\trejected after 7 deliveries",
        "1\t-\t-",
        "1\tqueue:bills\trejected after 7 deliveries",
        "1\ttopic:news (reader)\trejected after 7 deliveries",
    ]
    first = json.loads(run("dlq", "list", "--json").stdout.splitlines()[0])
    assert (first["queue"], first["count"], first["origin"]) == ("queue:DLQ", 2, "queue:orders")


@pytest.mark.usefixtures("dead")
def test_show_prints_and_leaves_them(run: Run) -> None:
    result = run("dlq", "show", "--origin", "orders", "--json")
    assert [json.loads(line)["body"] for line in result.stdout.splitlines()] == ["m0", "m1"]
    assert len(run("dlq", "show", "--selector", "n > 1", "-n", "1").stdout.splitlines()) == 1
    assert run("dlq", "show", "--origin", "nowhere", "--fail-if-empty").exit_code == 3
    assert len(browsed(run, "DLQ")) == 5


@pytest.mark.usefixtures("dead")
def test_return_sends_each_back_to_its_queue(run: Run) -> None:
    result = run("dlq", "return", "--json")
    assert json.loads(result.stdout) == {"returned": 3, "without_origin": 2}
    first, second = browsed(run, "orders")
    assert (first["body"], second["body"]) == ("m0", "m1")
    assert own(first) == {"n": {"short": 0}}
    assert first["headers"]["jms_priority"] == 9
    assert [each["body"] for each in browsed(run, "bills")] == ["m2"]
    assert {each["body"] for each in browsed(run, "DLQ")} == {"m3", "lost"}


def test_return_keeps_properties_that_only_other_providers_allow(run: Run) -> None:
    line = {"body": "x", "properties": {ORIGIN: "queue:orders", "x-request-id": "7"}}
    run("send", "DLQ", "-q", text=json.dumps(line))
    assert run("dlq", "return").exit_code == 0
    (message,) = browsed(run, "orders")
    assert own(message) == {"x-request-id": "7"}


@pytest.mark.usefixtures("dead")
def test_return_with_filters(run: Run) -> None:
    assert "1 returned" in run("dlq", "return", "--origin", "orders", "--limit", "1").stderr
    assert [each["body"] for each in browsed(run, "orders")] == ["m0"]
    result = run("dlq", "return", "--to", "repair")
    assert "4 returned" in result.stderr
    assert len(browsed(run, "repair")) == 4
    assert browsed(run, "DLQ") == []
    assert run("dlq", "return", "--to", "DLQ").exit_code == 2


@pytest.mark.usefixtures("dead")
def test_another_dead_letter_queue(run: Run) -> None:
    assert run("move", "DLQ", "failed").exit_code == 0
    assert run("dlq", "list").stdout == ""
    assert "3 returned" in run("dlq", "return", "--queue", "failed").stderr


def test_a_dead_letter_of_a_broker_can_be_returned(run: Run, broker: str) -> None:
    assert run("send", "orders", "poison", "-p", "n:int=1", "-q").exit_code == 0
    with jmsbridge.connect(broker, max_redeliveries=1) as connection:
        connection.start()
        session = connection.create_session(True)
        consumer = session.create_consumer(Queue("orders"))
        for _ in range(2):
            assert consumer.receive(timeout=10) is not None
            session.rollback()
    (line,) = run("dlq", "list").stdout.splitlines()
    assert line.startswith("1\tqueue:orders\t")
    assert "1 returned" in run("dlq", "return").stderr
    assert [own(each) for each in browsed(run, "orders")] == [{"n": 1}]


def test_an_error_in_the_middle_loses_nothing(
    run: Run, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{"body": str(number), "properties": {ORIGIN: "queue:orders"}} for number in range(25)]
    assert run("send", "DLQ", "-q", text="\n".join(map(json.dumps, lines))).exit_code == 0
    monkeypatch.setattr(moving, "_TRANSACTION", 10)
    told: list[int] = []

    def interrupt(count: int) -> None:
        told.append(count)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moving.transfer(connection, Queue("DLQ"), None, None, lambda each: Queue("orders"), interrupt)
    connection.close()
    assert told == [10]
    assert [each["body"] for each in browsed(run, "orders")] == [str(number) for number in range(10)]
    assert [each["body"] for each in browsed(run, "DLQ")] == [str(number) for number in range(10, 25)]


@pytest.mark.parametrize("transacted", [True, False])
def test_the_reason_counts_deliveries_to_the_application(run: Run, broker: str, transacted: bool) -> None:
    with jmsbridge.connect(broker, redelivery_delay=0.001, redelivery_delay_max=0.001, max_redeliveries=2) as failing:
        session = failing.create_session(transacted, jmsbridge.CLIENT_ACKNOWLEDGE)
        run("send", "orders", "bad", "-q")
        failing.start()
        consumer = session.create_consumer(Queue("orders"))
        for _ in range(3):
            assert consumer.receive(timeout=10) is not None
            (session.rollback if transacted else session.recover)()
        assert consumer.receive(timeout=0.2) is None
        assert run("dlq", "list").stdout == "1\tqueue:orders\trejected after 3 deliveries\n"
