"""The URL forms of the Java clients: to which client each belongs, and what cannot be imported."""

from typing import Any

import pytest

from jmsbridge.config import Options
from jmsbridge.config.java import CLIENTS, Imported, import_text
from jmsbridge.errors import ConfigurationError
from jmsbridge_pulsar.connection.options import PulsarOptions
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from tools.java_tables import java_tables


def url(text: str, **more: Any) -> Imported:
    return import_text(text, "url", name="orders", **more)


@pytest.mark.parametrize(
    ("text", "client", "expected"),
    [
        ("amqp://host:5672?jms.clientID=a", "qpid", "amqp://host:5672"),
        ("amqps://host?transport.verifyHost=true", "qpid", "amqps://host"),
        ("amqp://host", "qpid", "amqp://host"),
        ("failover:(amqp://a,amqp://b)", "qpid", ["amqp://a", "amqp://b"]),
        ("failover:amqp://a,amqp://b", "qpid", ["amqp://a", "amqp://b"]),
        ("amqp://[::1]:5672?amqp.vhost=x", "qpid", "amqp://[::1]:5672"),
        ("amqp://app:s3@host:5672/orders", "rabbitmq", "rabbitmq://host:5672/orders"),
        ("amqp://app:s3@host/%2F", "rabbitmq", "rabbitmq://host"),
        ("amqps://app:s3@host/a%2fb?heartbeat=10", "rabbitmq", "rabbitmqs://host/a%2Fb"),
        ("tcp://host:61616", "classic", "amqp://host:5672"),
        ("nio+ssl://host:61617", "classic", "amqps://host:5671"),
        ("auto://host:61616", "classic", "amqp://host:61616"),
        ("failover:(tcp://a:1,tcp://b:2)?randomize=false", "classic", ["amqp://a:5672", "amqp://b:5672"]),
        ("failover://(ssl://a:1,ssl://b:2)", "classic", ["amqps://a:5671", "amqps://b:5671"]),
        ("vm://localhost?broker.persistent=false", "classic", "embedded:"),
        ("vm://audit", "classic", "embedded:?broker=audit"),
        ("tcp://host:61616?reconnectAttempts=5", "artemis", "amqp://host:61616"),
        ("tcp://host:61616?sslEnabled=true", "artemis", "amqps://host:61616"),
        ("(tcp://a:61616,tcp://b)?ha=true&sslEnabled=true", "artemis", ["amqps://a:61616", "amqps://b:61616"]),
        ("tcp://a?sslEnabled=true#tcp://b:61617", "artemis", ["amqps://a:61616", "amqps://b:61617"]),
        ("(tcp://a:1,tcp://b:2)?ha=false", "artemis", ["amqp://a:1", "amqp://b:2"]),
        ("tcp://a:1?ha=false#tcp://b:2", "artemis", ["amqp://a:1", "amqp://b:2"]),
        ("pulsar://a:6650,b:6650", "pulsar", ["pulsar://a:6650", "pulsar://b:6650"]),
        ("pulsar+ssl://a", "pulsar", "pulsar+ssl://a"),
    ],
)
def test_the_client_and_the_target_of_a_url(text: str, client: str, expected: str | list[str]) -> None:
    found = url(text)
    assert (found.client, found.profile["url"]) == (client, expected)
    assert "s3" not in repr(found)


def test_an_ambiguous_url_is_reported_and_can_be_decided() -> None:
    assert [note.kind for note in url("tcp://host:61616").notes if note.kind == "assumed"] == ["assumed"]
    found = url("tcp://host:61616", client="artemis")
    assert (found.profile["url"], found.client) == ("amqp://host:61616", "artemis")
    assert not [note for note in found.notes if note.kind == "assumed"]
    assert url("amqp://host", client="rabbitmq").profile["url"] == "rabbitmq://host"
    assert url("tcp://host:61616", prefer="stomp").profile["url"] == "stomp://host:61613"
    assert url("ssl://host:61616", prefer="stomp").profile["url"] == "stomp+ssl://host:61612"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("discovery:(multicast://default)", "list them"),
        ("failover:(udp://a:1)", "'udp'"),
        ("udp://group.example:9876", "'udp'"),
        ("http://host", "'http'"),
        ("amqpws://host", "'amqpws'"),
        ("amqp://a:b@id/test?brokerlist='tcp://host:5672'", "AMQP 0-9"),
        ("failover:(amqp://a,amqps://b)", "cannot mix"),
        ("failover:(tcp://a,ssl://b)", "cannot mix"),
        ("failover:(tcp://a", "not closed"),
        ("failover:()", "empty"),
        ("tcp://host:many", "not a number"),
        ("host", "no scheme"),
        ("pulsar://", "no host"),
        ("(jgroups://x)", "list them"),
    ],
)
def test_what_cannot_be_imported_says_why(text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        url(text)
    assert expected in str(caught.value)


def test_credentials_that_differ_stay_in_the_urls_unless_java_takes_the_first() -> None:
    found = url("(tcp://u:s3@a:1,tcp://v:s4@b:2)")
    assert found.profile["url"] == ["amqp://u:${env:ORDERS_PASSWORD_1}@a:1", "amqp://v:${env:ORDERS_PASSWORD_2}@b:2"]
    assert [note.kind for note in found.notes if "ORDERS_PASSWORD" in note.reason] == ["secret", "secret"]
    listed = import_text(
        "factory=com.rabbitmq.jms.admin.RMQConnectionFactory\nuris=amqp://u:s3@a,amqp://v:s4@b", "properties", name="o"
    )
    assert listed.profile["url"] == ["rabbitmq://a", "rabbitmq://b"]
    assert (listed.profile["user"], listed.profile["password"]) == ("u", "${env:O_PASSWORD}")
    assert [note.name for note in listed.notes if "apply to all" in note.reason] == [
        "credentials, virtual host and TLS of b"
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("jms.sendTimeout=-1", {}),
        ("jms.sendTimeout=2500", {"send_timeout": 2.5}),
        ("jms.sendTimeout=soon", {}),
        ("jms.forceSyncSend=true", {"block_on_non_durable_send": True}),
        ("jms.forceAsyncSend=true", {"block_on_durable_send": False}),
        ("jms.forceAsyncSend=false", {}),
        ("jms.redeliveryPolicy.maxRedeliveries=-1", {"max_redeliveries": -1}),
        ("jms.prefetchPolicy.all=5&jms.prefetchPolicy.queuePrefetch=9", {"prefetch": 5}),
        ("jms.prefetchPolicy.topicPrefetch=7", {"prefetch": 7}),
        (
            "failover.reconnectDelay=60000&jms.clientID=x",
            {"reconnect_delay": 60, "reconnect_delay_max": 60, "client_id": "x"},
        ),
        (
            "failover.reconnectDelay=20&failover.useReconnectBackOff=false",
            {"reconnect_delay": 0.02, "reconnect_delay_max": 0.02},
        ),
        ("failover.maxReconnectAttempts=-1&failover.initialReconnectDelay=0", {}),
        ("failover.nested.jms.clientID=x", {"client_id": "x"}),
        ("jms.connectTimeout=${T}", {"connect_timeout": "${env:T}ms"}),
        ("jms.clientID=${ID:-me}", {"client_id": "me"}),
    ],
)
def test_options_of_qpid(options: str, expected: dict[str, Any]) -> None:
    profile = url(f"failover:(amqp://host)?{options}", client="qpid").profile
    assert {name: value for name, value in profile.items() if name != "url"} == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("heartbeat=20&auth_mechanism=plain", {"heartbeat": 20}),
        ("heartbeat=0", {}),
        ("cacertfile=ca.pem&certfile=me.pem&keyfile=me.key&auth_mechanism=EXTERNAL&verify=verify_peer",
         {"ca_file": "ca.pem", "certificate": "me.pem", "key": "me.key", "login": "external"}),
    ],
)  # fmt: skip
def test_options_of_rabbitmq(options: str, expected: dict[str, Any]) -> None:
    found = url(f"amqps://host/v?{options}")
    assert found.profile == {"url": "rabbitmqs://host/v", **expected}
    assert [note.name for note in found.notes if note.kind == "dropped"] == (["heartbeat"] if not expected else [])


@pytest.mark.parametrize(("text", "seconds"), [("30", 30), ("45s", 45), ("2m", 120), ("${BEAT}", None)])
def test_heart_beats_of_spring_are_seconds(text: str, seconds: int | None) -> None:
    settings = f"spring.rabbitmq.host=h\nspring.rabbitmq.requested-heartbeat={text}\n"
    found = import_text(settings, "properties", name="orders").profile
    assert found.get("heartbeat") == (seconds or "${env:BEAT}")


def test_equivalent_settings_need_no_note() -> None:
    assert url("amqp://host?transport.tcpNoDelay=true&jms.validateSelector=true").notes == []
    (note,) = url("amqp://host?jms.validateSelector=false").notes
    assert (note.name, note.kind) == ("jms.validateSelector", "dropped")


def test_an_unknown_option_is_named() -> None:
    (note,) = url("amqp://host?jms.nothing=1").notes
    assert (note.name, note.kind) == ("jms.nothing", "unknown")
    assert "not a known option of Qpid JMS" in note.reason


def test_constant_pauses_of_classic_stay_constant() -> None:
    profile = url(
        "tcp://h:1?jms.redeliveryPolicy.redeliveryDelay=9000&jms.sendAcksAsync=false&jms.alwaysSyncSend=true"
    ).profile
    assert (profile["redelivery_delay_first"], profile["redelivery_delay"], profile["redelivery_factor"]) == (1, 9, 1)
    assert (profile["block_on_acknowledge"], profile["block_on_non_durable_send"]) == (True, True)


@pytest.mark.parametrize("table", java_tables().values(), ids=java_tables())
def test_the_tables_name_options_that_exist_and_give_reasons(table: dict[str, Any]) -> None:
    own = (*RabbitOptions.__struct_fields__, *PulsarOptions.__struct_fields__, "url")
    for name, rule in table.items():
        assert rule.option or rule.reason, name
        assert rule.option in (None, "user", "password", *Options.__struct_fields__, *own), name


def test_every_client_has_a_name() -> None:
    assert set(CLIENTS) == {"qpid", "classic", "artemis", "rabbitmq", "pulsar"}
