"""Every sample file, written in the style of its client's documentation, becomes a profile without hand editing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jmsbridge_rabbitmq
from jmsbridge.config import resolve
from jmsbridge.config.java import Imported, import_text
from jmsbridge.config.writing import profile_text
from jmsbridge.spi import registry
from jmsbridge_pulsar.connection.options import PulsarOptions
from tests.config.stub import StubBackend

HERE = Path(__file__).parent
SCHEMES = ("amqp", "amqps", "rabbitmq", "rabbitmqs", "stomp", "stomp+ssl", "pulsar", "pulsar+ssl")
KINDS = {".properties": "properties", ".yml": "yaml", ".url": "url"}

EXPECTED: dict[str, dict[str, Any]] = {
    "qpid_jndi.properties": {
        "url": ["amqp://broker-a.example:5672", "amqp://broker-b.example:5672"],
        "user": "shop",
        "password": "${env:ORDERS_PASSWORD}",
        "prefetch": 100,
        "reconnect_delay": 0.05,
        "reconnect_delay_max": 10,
        "reconnect_attempts": 20,
        "send_timeout": 20,
        "client_id": "order-service",
    },
    "classic_jndi.properties": {
        "url": ["amqp://mq1.example:5672", "amqp://mq2.example:5672"],
        "user": "system",
        "password": "${env:ORDERS_PASSWORD}",
        "prefetch": 50,
        "redelivery_delay_first": 2,
        "redelivery_delay": 1,
        "redelivery_factor": 1,
        "redelivery_delay_max": 1,
        "reconnect_delay": 0.1,
        "reconnect_delay_max": 5,
        "block_on_durable_send": False,
        "max_redeliveries": 3,
    },
    "classic_named_factories.properties": {
        "url": "amqps://mq.example:5671",
        "user": "orders",
        "password": "${env:ORDERS_PASSWORD}",
        "client_id": "orders-1",
    },
    "artemis_jndi.properties": {
        "url": ["amqp://live.example:61616", "amqp://backup.example:61616"],
        "user": "app",
        "password": "${env:ORDERS_PASSWORD}",
        "prefetch": 0,
        "reconnect_delay": 1,
        "reconnect_delay_max": 1,
        "confirmation_window_size": 1048576,
        "block_on_durable_send": True,
        "block_on_acknowledge": True,
        "send_timeout": 10,
    },
    "artemis_tls.url": {"url": "amqps://secure.example:5500"},
    "rabbitmq_factory.properties": {
        "url": "rabbitmq://rabbit.example:5672/orders%2Feu",
        "user": "guest-user",
        "password": "${env:ORDERS_PASSWORD}",
        "prefetch": 50,
        "dialect": "jms",
    },
    "starlight_jndi.properties": {
        "url": ["pulsar://pulsar-1.example:6650", "pulsar://pulsar-2.example:6650"],
        "client_id": "shop",
        "admin_url": "http://pulsar-1.example:8080",
        "namespace": "public/default",
        "queue_subscription": "jms-queue",
        "token": "${env:ORDERS_TOKEN}",
        "send_timeout": 10,
        "send_window": 500,
        "prefetch": 40,
        "max_redeliveries": 4,
        "redelivery": {"*": {"dead_letter_queue": "dead"}, "topic:*": {"dead_letter_queue": "dead"}},
    },
    "spring_activemq.properties": {
        "url": ["amqp://mq1.example:5672", "amqp://mq2.example:5672"],
        "user": "admin",
        "password": "${env:ACTIVEMQ_PASSWORD}",
        "redelivery_delay_first": 1,
        "redelivery_delay": 3,
        "redelivery_factor": 3,
        "redelivery_delay_max": 20,
        "max_redeliveries": 5,
        "close_timeout": 20,
    },
    "spring_artemis.yml": {
        "url": "amqp://artemis.example:${env:ARTEMIS_PORT}",
        "user": "app",
        "password": "${env:ORDERS_PASSWORD}",
        "block_on_non_durable_send": True,
        "client_id": "shop-1",
    },
    "spring_rabbitmq.yml": {
        "url": ["rabbitmqs://rabbit1.example:5671/%2Forders", "rabbitmqs://rabbit2.example:5671/%2Forders"],
        "user": "shop",
        "password": "${env:ORDERS_PASSWORD}",
        "connect_timeout": 5,
        "prefetch": 20,
        "heartbeat": 30,
    },
    "spring_qpid.properties": {
        "url": "amqps://amqp.example:5671",
        "user": "shop",
        "password": "${env:ORDERS_PASSWORD}",
        "prefetch": 20,
        "client_id": "shop-1",
    },
    "spring_pulsar.yml": {
        "url": "pulsar+ssl://pulsar.example:6651",
        "connect_timeout": 20,
        "token": "${env:ORDERS_TOKEN}",
    },
}

NOTED = {
    "qpid_jndi.properties": {
        "connectionfactory.reportFactory",
        "queue.orders",
        "topic.prices",
        "transport.tcpKeepAlive",
        "jms.password",
    },
    "classic_jndi.properties": {
        "java.naming.provider.url",
        "java.naming.security.credentials",
        "jms.prefetchPolicy.queuePrefetch",
        "jms.useAsyncSend",
        "queue.MyQueue",
        "topic.MyTopic",
    },
    "classic_named_factories.properties": {
        "connection.audit.brokerURL",
        "connection.orders.brokerURL",
        "wireFormat.maxInactivityDuration",
        "jms.password",
        "queue.Orders",
    },
    "artemis_jndi.properties": {
        "connectionFactory.ConnectionFactory",
        "ha",
        "callTimeout",
        "password",
        "queue.queues/OrderQueue",
        "topic.topics/NewsTopic",
    },
    "artemis_tls.url": {"the URL", "trustStorePath", "trustStorePassword", "verifyHost", "clientFailureCheckPeriod"},
    "rabbitmq_factory.properties": {
        "password",
        "onMessageTimeoutMs",
        "queueBrowserReadMax",
        "factory",
        "className",
        "name",
        "the factory's properties",
    },
    "starlight_jndi.properties": {
        "authParams",
        "consumerConfig.deadLetterPolicy.deadLetterTopic",
        "queue.queues/orders",
    },
    "spring_activemq.properties": {
        "spring.activemq.broker-url",
        "spring.activemq.password",
        "${ACTIVEMQ_PASSWORD}",
        "spring.activemq.packages.trust-all",
        "spring.activemq.pool.enabled",
        "spring.activemq.pool.max-connections",
        "spring.jms.listener.concurrency",
        "spring.jms.template.default-destination",
        "the part for Spring profile prod",
    },
    "spring_artemis.yml": {
        "spring.artemis.broker-url",
        "spring.artemis.password",
        "spring.artemis.pool.enabled",
        "spring.artemis.pool.maxConnections",
        "spring.jms.cache.session-cache-size",
        "${ARTEMIS_HOST}",
        "${ARTEMIS_PORT}",
    },
    "spring_rabbitmq.yml": {
        "password",
        "spring.rabbitmq.ssl.key-store",
        "spring.rabbitmq.ssl.key-store-password",
        "spring.rabbitmq.listener.simple.concurrency",
        "the part for Spring profile local",
    },
    "spring_qpid.properties": {
        "transport.trustStoreLocation",
        "transport.trustStorePassword",
        "amqphub.amqp10jms.password",
        "amqphub.amqp10jms.pool.enabled",
    },
    "spring_pulsar.yml": {
        "spring.pulsar.client.authentication.param",
    },
}


class PulsarStub(StubBackend):
    options = PulsarOptions


@pytest.fixture(autouse=True)
def backends() -> Iterator[None]:
    for scheme in SCHEMES:
        if not scheme.startswith("rabbitmq"):
            registry.register(scheme, PulsarStub() if scheme.startswith("pulsar") else StubBackend())
    registry.register("rabbitmq", jmsbridge_rabbitmq.backend)
    registry.register("rabbitmqs", jmsbridge_rabbitmq.tls_backend)
    yield
    for scheme in SCHEMES:
        registry.unregister(scheme)


def imported(name: str) -> Imported:
    path = HERE / name
    return import_text(path.read_text(encoding="utf-8"), KINDS[path.suffix], name="orders")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_profile(name: str) -> None:
    assert imported(name).profile == EXPECTED[name]


@pytest.mark.parametrize("name", NOTED)
def test_settings_without_an_equivalent_are_listed_with_a_reason(name: str) -> None:
    notes = imported(name).notes
    assert {note.name for note in notes} == NOTED[name]
    assert all(len(note.reason) > 10 for note in notes)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_result_contains_no_secret(name: str) -> None:
    found = imported(name)
    assert "Sekret" not in repr(found.profile) + repr(found.notes)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_profile_can_be_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("jmsbridge.toml").write_text(profile_text("orders", imported(name).profile), encoding="utf-8")
    monkeypatch.setenv("ORDERS_TOKEN", "t0ken")
    for variable, value in (("ORDERS_PASSWORD", "p/w@"), ("ACTIVEMQ_PASSWORD", "p/w@"), ("ARTEMIS_PORT", "61616")):
        monkeypatch.setenv(variable, value)
    target = resolve("orders")
    assert len(target.endpoints) == len(imported(name).profile["url"]) or target.endpoints[0].host
    assert all(endpoint.password == "p/w@" for endpoint in target.endpoints if "password" in EXPECTED[name])


def test_every_sample_has_its_test() -> None:
    samples = {path.name for path in HERE.iterdir() if path.suffix in KINDS}
    assert samples == set(EXPECTED) == set(NOTED)
