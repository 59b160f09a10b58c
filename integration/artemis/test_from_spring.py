"""Each Spring program and its twin in Python take each other's place on a real broker."""

import time

import pytest

import jmsbridge
from integration.artemis.pairs import ALONE, BOTH, PATIENCE, Language, Pairs, in_java, in_python, lines, run, started
from integration.lab.broker import Broker

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.server, *ALONE]
PROGRAMS = Pairs.of("from_spring")
NAMES = ["listener", "sender", "quotes", "customer", "checks", "shop"]


@BOTH
def test_orders_are_sent_and_heard(artemis: Broker, server: Language, client: Language) -> None:
    with started(server(PROGRAMS, "listener", artemis)) as listening:
        run(client(PROGRAMS, "sender", artemis))
        assert sorted(lines(listening, "order", 2)) == ["order 1: pen", "order 2: paper"]


@BOTH
def test_a_customer_gets_a_quote(artemis: Broker, server: Language, client: Language) -> None:
    with started(server(PROGRAMS, "quotes", artemis)):
        assert "quote 3: 4.5" in run(client(PROGRAMS, "customer", artemis))


@pytest.mark.parametrize("language", [in_java, in_python])
def test_orders_are_checked(artemis: Broker, language: Language) -> None:
    with started(language(PROGRAMS, "checks", artemis)), jmsbridge.context(artemis.url("amqp")) as context:
        orders = context.create_consumer(context.create_queue("orders"))
        producer = context.create_producer().set_property("region", "north").set_property("_type", "Order")
        for text in ('{"number":4,"article":""}', '{"number":5,"article":"glue"}'):
            producer.send(context.create_queue("unchecked"), text)
        checked = orders.receive(timeout=PATIENCE)
        assert isinstance(checked, jmsbridge.TextMessage)
        assert checked.text is not None
        assert '"glue"' in checked.text
        assert checked.get_string_property("_type") == "Order"
        deadline = time.monotonic() + PATIENCE
        dead = context.create_consumer(context.create_queue("DLQ"), "region = 'north'")
        left = dead.receive(timeout=deadline - time.monotonic())
        assert isinstance(left, jmsbridge.TextMessage)
        assert left.text == '{"number":4,"article":""}'


@pytest.mark.parametrize("name", NAMES)
def test_python_is_shorter(name: str) -> None:
    PROGRAMS.assert_python_is_shorter(name)
