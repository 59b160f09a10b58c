"""Selectors of topics evaluated by the broker's plugin: option ``topic_selectors=broker``."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.rabbitmq.support import Client
from jmsbridge.selectors import compile_selector
from jmsbridge.spi import (
    Address,
    Byte,
    Envelope,
    Float,
    Long,
    Native,
    NotSupported,
    Outcome,
    Short,
    SubscriptionRefused,
)
from jmsbridge.testing.suite.contract.support import Box, envelope, settle
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.broker.erlang_selector import erlang_selector
from jmsbridge_rabbitmq.broker.selector_exchanges import exchange_of
from jmsbridge_rabbitmq.messages.wire import Dialect

Clients = Callable[..., Client]
AT_BROKER = RabbitOptions(topic_selectors="broker")
LAST = "last"
MESSAGES: list[dict[str, Any]] = [
    {},
    {"n": 5, "s": "héllo", "b": True, "x": 1.5},
    {"n": Byte(-5), "s": "h", "b": False, "x": Float(1.5)},
    {"n": Short(300), "s": "there", "x": -2.0},
    {"n": Long(1 << 40), "s": 'it\'s "quoted" \\ back', "b": True},
    {"n": 11.5, "s": "", "x": None},
    {"n": 0, "s": "a_b%c", "b": None, "x": 1e22},
    {"n": Float(0.1), "s": "€", "x": 0.1},
]
SELECTORS = [
    "n > 10",
    "n >= 5 AND s LIKE 'h%'",
    "n < 0 OR x = 1.5",
    "NOT n > 10",
    "b",
    "b = TRUE OR b IS NULL",
    "b <> TRUE",
    "n BETWEEN -5 AND 5",
    "n NOT BETWEEN -5 AND 5.5",
    "s IN ('h', '€', 'it''s \"quoted\" \\ back')",
    "s NOT IN ('h', '')",
    "x IS NOT NULL",
    "s LIKE 'a!_b!%_' ESCAPE '!'",
    "s NOT LIKE '%e%'",
    "s = 'héllo' OR s = '\u0001\n\t'",
    "n = 0.1 OR x = 0.1 OR x = 1e22",
    "n = 1099511627776 OR n = -5",
    "JMSPriority = 4 AND JMSDeliveryMode = 'PERSISTENT' AND n < 3",
    "JMSType IS NULL AND JMSCorrelationID = 'c' AND JMSTimestamp > 0 AND JMSMessageID LIKE 'ID:%'",
    " OR ".join(f"n = {number}" for number in range(200)),
]


@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_the_broker_selects_as_jmsbridge_does(broker: Broker, clients: Clients, name: str, dialect: Dialect) -> None:
    client = clients(broker, options=RabbitOptions(topic_selectors="broker", dialect=dialect))
    topic = Address(name, topic=True)
    boxes = {}
    for each in SELECTORS:
        _, boxes[each] = client.consume(topic, 100, selector=f"({each}) OR JMSType = '{LAST}'")
    sent = [envelope(topic, f"{number}", properties=each, correlation_id="c") for number, each in enumerate(MESSAGES)]
    for message in sent:
        client.send(topic, message.body, properties=message.properties, correlation_id="c")
    client.send(topic, LAST, jms_type=LAST)
    for selector, box in boxes.items():
        expected = [each.body for each in sent if matches(selector, each)] + [LAST]
        eventually(partial(box_has_all, box))
        assert box.bodies == expected, selector
    assert client.log.losses == []


def box_has_all(box: Box) -> bool:
    """Whether the last message has arrived."""
    return LAST in box.bodies


def matches(selector: str, message: Envelope) -> bool:
    """The result according to the specification."""
    return compile_selector(selector).matches_envelope(message)


def slx(broker: Broker, queue: str) -> list[str]:
    """The selectors of a queue at the broker."""
    listed = broker.admin.get(f"/api/queues/%2F/{quote(queue, safe='')}/bindings")
    return [each["arguments"].get("rjms_erlang_selector") for each in listed if "-slx-" in each["source"]]


@pytest.mark.parametrize(
    ("shared", "durable"),
    [(True, False), (False, True), (True, True)],  # an unshared non-durable subscription has no name to resume
    ids=["passing-shared", "durable-alone", "durable-shared"],
)
def test_a_changed_selector_replaces_the_old_one(
    broker: Broker, clients: Clients, name: str, shared: bool, durable: bool
) -> None:
    client = clients(broker, options=AT_BROKER, client_id=name)
    topic = Address(name, topic=True)
    how: dict[str, Any] = {"key": "k", "durable": durable, "shared": shared}
    queue = f"{name}.k" if durable else f"jms-cons-shared-{name}.k"
    for selector in ("n = 1", "n = 2", "n = 2", "n = 3"):
        subscription, box = client.consume(topic, 10, selector=selector, **how)
        assert slx(broker, queue) == [erlang_selector(selector, "")]
        with pytest.raises(SubscriptionRefused):
            client.consume(topic, selector="n = 7", **how)
        for number in (1, 2, 3):
            client.send(topic, f"n = {number}", properties={"n": number})
        assert [each.envelope.body for each in box.wait(1)] == [selector]
        settle(subscription, box.tokens, Outcome.ACCEPTED)
        subscription.close()
    if durable:
        client.link.unsubscribe("k", None)
    gone = exchange_of(queue, durable=durable)
    eventually(lambda: gone not in {each["name"] for each in broker.admin.get("/api/exchanges/%2F")})


def test_a_durable_subscription_moves_between_client_and_broker(broker: Broker, clients: Clients, name: str) -> None:
    topic = Address(name, topic=True)
    how: dict[str, Any] = {"key": "k", "durable": True, "selector": "n = 1"}
    for options, expected in (
        (RabbitOptions(), []),
        (AT_BROKER, [erlang_selector("n = 1", "")]),
        (RabbitOptions(), []),
    ):
        client = clients(broker, options=options, client_id=name)
        selects = options.topic_selectors == "broker"
        assert (Native.TOPIC_SELECTORS in client.link.native) == selects
        subscription, _ = client.consume(topic, **how, select=selects)
        assert slx(broker, f"{name}.k") == expected
        subscription.close()
        client.close()


def test_a_selector_of_a_temporary_topic(broker: Broker, clients: Clients, name: str) -> None:
    client = clients(broker, options=AT_BROKER)
    topic = client.link.declare(Address(name, topic=True, temporary=True))
    _, box = client.consume(topic, 10, selector="n = 1")
    client.send(topic, "no")
    client.send(topic, "yes", properties={"n": 1})
    assert [each.envelope.body for each in box.wait(1)] == ["yes"]


def test_selectors_that_the_plugin_lacks_are_refused_and_the_link_stays(
    broker: Broker, clients: Clients, name: str
) -> None:
    client = clients(broker, options=AT_BROKER)
    topic = Address(name, topic=True)
    for selector in ("n + 1 > 2", "JMSXDeliveryCount > 1"):
        with pytest.raises(NotSupported, match="topic_selectors"):
            client.consume(topic, selector=selector)
    with pytest.raises(NotSupported):
        client.consume(Address(name), selector="n = 1")
    _, box = client.consume(topic, 1)
    client.send(topic, "all")
    assert box.wait(1)[0].envelope.body == "all"
    assert client.log.losses == []


def test_faults_of_the_plugin(broker: Broker, clients: Clients, name: str) -> None:
    """The faults that the page lists; if one is fixed, the page must change."""
    client = clients(broker, options=AT_BROKER)
    topic = Address(name, topic=True)
    _, box = client.consume(topic, 10, selector="n > 10")
    _, other = client.consume(topic, 10, selector="s NOT IN ('a')")
    client.send(topic, "text", properties={"n": "5"})
    client.send(topic, "number", properties={"s": 5})
    assert box.wait(1)[0].envelope.body == "text"
    assert other.wait(1)[0].envelope.body == "number"
    liked, _ = client.consume(topic, 10, selector="s LIKE 'h%'")
    sender = clients(broker)
    error = sender.ask(topic, "number", properties={"s": 5}).outcome()
    assert error is not None
    assert "541" in str(error)
    assert client.log.losses == []
    liked.close()


def test_without_the_plugin_the_refusal_says_what_to_do(own_broker: StartBroker, clients: Clients, name: str) -> None:
    broker = own_broker("rabbitmq")
    broker.ctl("eval", 'rabbit_registry:unregister(exchange, <<"x-jms-topic">>).')
    with pytest.raises(NotSupported, match="rabbitmq-plugins enable rabbitmq_jms_topic_exchange"):
        clients(broker, options=AT_BROKER)
    alive = clients(broker)
    _, box = alive.consume(Address(name, topic=True), 1)
    alive.send(Address(name, topic=True), "x")
    assert box.wait(1)[0].envelope.body == "x"
