"""Each program of Jakarta Messaging and its twin in Python take each other's place on a real broker."""

import pytest

import jmsbridge
from integration.artemis.pairs import ALONE, BOTH, PATIENCE, Language, Pairs, in_java, in_python, lines, run, started
from integration.lab.broker import Broker

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.server, *ALONE]
PROGRAMS = Pairs.of("from_java")
NAMES = ["send_orders", "hear_orders", "ask_price", "answer_price", "check_orders"]


@BOTH
def test_orders_are_sent_and_heard(artemis: Broker, server: Language, client: Language) -> None:
    with started(server(PROGRAMS, "hear_orders", artemis)) as listening:
        run(client(PROGRAMS, "send_orders", artemis))
        assert lines(listening, "order", 2) == ["order 1: pen", "order 2: paper"]


@BOTH
def test_a_price_is_asked_for(artemis: Broker, server: Language, client: Language) -> None:
    with started(server(PROGRAMS, "answer_price", artemis)):
        assert "ink: 4.5" in run(client(PROGRAMS, "ask_price", artemis))


@pytest.mark.parametrize("language", [in_java, in_python])
def test_an_order_without_an_article_is_rejected_after_three_attempts(artemis: Broker, language: Language) -> None:
    with started(language(PROGRAMS, "check_orders", artemis)), jmsbridge.context(artemis.url("amqp")) as context:
        orders, rejected = (context.create_consumer(context.create_queue(name)) for name in ("orders", "rejected"))
        for number, article in enumerate(["", "glue"]):
            producer = context.create_producer().set_property("number", number)
            producer.send(context.create_queue("unchecked"), article)
        for consumer, number, article in ((orders, 1, "glue"), (rejected, 0, "")):
            message = consumer.receive(timeout=PATIENCE)
            assert message is not None
            assert (message.get_int_property("number"), message.get_body(str)) == (number, article)


@pytest.mark.parametrize("name", NAMES)
def test_python_is_shorter(name: str) -> None:
    PROGRAMS.assert_python_is_shorter(name)
