"""Single settings, a table for each reader: imported exactly, or noted with the true reason."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jmsbridge.config import RedeliveryPolicy, policy_for, resolve
from jmsbridge.config.java import Imported, import_text
from jmsbridge.config.java.rules import Table
from tools.java_tables import java_tables

Notes = dict[str, tuple[str, str]]
Row = tuple[str, dict[str, Any], Notes]

ENDLESS = ("dropped", "always have a deadline")
UNLIMITED = ("dropped", "always a limit")

QPID: list[Row] = [
    ("jms.sendTimeout=-1", {}, {"jms.sendTimeout": ENDLESS}),
    ("jms.connectTimeout=0", {}, {"jms.connectTimeout": ENDLESS}),
    ("transport.connectTimeout=9000&jms.connectTimeout=2000", {"connect_timeout": 2},
     {"transport.connectTimeout": ("dropped", "connect_timeout is set by jms.connectTimeout")}),
    ("jms.forceAsyncSend=true", {"block_on_durable_send": False}, {"jms.forceAsyncSend": ("changed", "unconfirmed")}),
    ("jms.forceAsyncSend=true&jms.forceSyncSend=true", {"block_on_non_durable_send": True}, {}),
    ("jms.redeliveryPolicy.maxRedeliveries=-1", {"max_redeliveries": -1}, {}),
    ("jms.redeliveryPolicy.maxRedeliveries=0", {"max_redeliveries": 0}, {}),
    ("jms.redeliveryPolicy.outcome=ACCEPTED", {}, {"jms.redeliveryPolicy.outcome": ("dropped", "rejected here")}),
    ("jms.redeliveryPolicy.outcome=2", {}, {}),
    ("jms.presettlePolicy.presettleAll=false", {}, {}),
    ("jms.presettlePolicy.presettleProducers=true", {},
     {"jms.presettlePolicy.presettleProducers": ("dropped", "block_on_durable_send")}),
    ("jms.prefetchPolicy.all=-1", {}, {"jms.prefetchPolicy.all": UNLIMITED}),
    ("failover.initialReconnectDelay=500&failover.reconnectDelay=100", {"reconnect_delay": 0.1},
     {"failover.initialReconnectDelay": ("dropped", "the same pause here")}),
    ("failover.initialReconnectDelay=500", {"reconnect_delay": 0.5}, {}),
    ("failover.reconnectDelay=100&failover.reconnectBackOffMultiplier=3", {"reconnect_delay": 0.1},
     {"failover.reconnectBackOffMultiplier": ("changed", "doubles")}),
    ("jms.prefechPolicy.all=5", {}, {"jms.prefechPolicy.all": ("unknown", "did you mean 'jms.prefetchPolicy.all'")}),
    ("failover.maxReconectAttempts=5", {},
     {"failover.maxReconectAttempts": ("unknown", "did you mean 'failover.maxReconnectAttempts'")}),
    ("transport.verifyHosts=false", {}, {"transport.verifyHosts": ("unknown", "'transport.verifyHost'")}),
    ("amqp.frobnicate=1", {}, {"amqp.frobnicate": ("unknown", "Qpid JMS")}),
]  # fmt: skip

POLICY = "jms.redeliveryPolicy."
CLASSIC: list[Row] = [
    (f"{POLICY}initialRedeliveryDelay=5000&{POLICY}redeliveryDelay=3000",
     {"redelivery_delay_first": 5, "redelivery_delay": 3, "redelivery_factor": 1, "redelivery_delay_max": 3}, {}),
    (f"{POLICY}redeliveryDelay=3000",
     {"redelivery_delay_first": 1, "redelivery_delay": 3, "redelivery_factor": 1, "redelivery_delay_max": 3}, {}),
    (f"{POLICY}maximumRedeliveries=-1", {"max_redeliveries": -1}, {}),
    (f"{POLICY}maximumRedeliveries=0", {"max_redeliveries": 0}, {}),
    (f"{POLICY}useExponentialBackOff=true&{POLICY}backOffMultiplier=2&{POLICY}maximumRedeliveryDelay=60000",
     {"redelivery_delay_first": 1, "redelivery_delay": 2, "redelivery_factor": 2, "redelivery_delay_max": 60}, {}),
    (f"{POLICY}useExponentialBackOff=true",
     {"redelivery_delay_first": 1, "redelivery_delay": 5, "redelivery_factor": 5, "redelivery_delay_max": "unlimited"},
     {}),
    (f"{POLICY}maximumRedeliveryDelay=60000",
     {"redelivery_delay_first": 1, "redelivery_delay": 1, "redelivery_factor": 1, "redelivery_delay_max": 1},
     {f"{POLICY}maximumRedeliveryDelay": ("dropped", "no effect")}),
    (f"{POLICY}redeliveryDelay=${{D}}&{POLICY}useExponentialBackOff=true",
     {"redelivery_delay_first": 1, "redelivery_delay": "${env:D}ms", "redelivery_factor": 5,
      "redelivery_delay_max": "unlimited"},
     {f"{POLICY}backOffMultiplier": ("changed", "the second pause"), "${D}": ("changed", "")}),
    (f"{POLICY}useCollisionAvoidance=true", {}, {f"{POLICY}useCollisionAvoidance": ("dropped", "not randomised")}),
    (f"{POLICY}maximumRedelivery=3", {}, {f"{POLICY}maximumRedelivery": ("unknown", "maximumRedeliver")}),
    ("jms.prefechPolicy.all=5", {}, {"jms.prefechPolicy.all": ("unknown", "did you mean 'jms.prefetchPolicy.all'")}),
    ("jms.prefetchPolicy.all=5&jms.prefetchPolicy.topicPrefetch=7", {"prefetch": 5},
     {"jms.prefetchPolicy.topicPrefetch": ("dropped", "one prefetch")}),
    ("jms.sendTimeout=0", {}, {"jms.sendTimeout": ENDLESS}),
    ("jms.sendTimeout=5000&timeout=3000", {"send_timeout": 5},
     {"timeout": ("dropped", "send_timeout is set by jms.sendTimeout")}),
    ("timeout=3000", {"send_timeout": 3}, {"timeout": ("changed", "the whole of a send")}),
    ("jms.connectResponseTimeout=0", {}, {"jms.connectResponseTimeout": ENDLESS}),
    ("connectionTimeout=0", {}, {"connectionTimeout": ENDLESS}),
    ("jms.useAsyncSend=true&jms.alwaysSyncSend=true",
     {"block_on_durable_send": True, "block_on_non_durable_send": True}, {}),
    ("jms.useAsyncSend=true", {"block_on_durable_send": False}, {"jms.useAsyncSend": ("changed", "unconfirmed")}),
    ("jms.sendAcksAsync=false", {"block_on_acknowledge": True}, {}),
    ("socket.verifyHostName=false", {}, {"socket.verifyHostName": ("dropped", "host names are checked")}),
    ("socket.verifyHostNme=false", {}, {"socket.verifyHostNme": ("unknown", "'socket.verifyHostName'")}),
    ("wireFormat.maxFrameSize=9", {}, {"wireFormat.maxFrameSize": ("dropped", "OpenWire")}),
    ("jms.consumerExpiryCheckEnabled=false", {}, {"jms.consumerExpiryCheckEnabled": ("dropped", "never delivered")}),
    ("maxReconnectAttempts=-1", {}, {}),
    ("maxReconnectAttempts=7", {"reconnect_attempts": 7}, {}),
]  # fmt: skip

ARTEMIS: list[Row] = [
    ("callTimeout=10000", {"send_timeout": 10}, {"callTimeout": ("changed", "only for sends")}),
    ("callTimeout=-1", {}, {"callTimeout": ENDLESS}),
    ("consumerWindowSize=0", {"prefetch": 0}, {}),
    ("consumerWindowSize=1048576", {}, {"consumerWindowSize": ("dropped", "counts bytes")}),
    ("retryInterval=500&retryIntervalMultiplier=2&maxRetryInterval=60000",
     {"reconnect_delay": 0.5, "reconnect_delay_max": 60}, {}),
    ("retryInterval=500", {"reconnect_delay": 0.5, "reconnect_delay_max": 0.5}, {}),
    ("reconnectAttempts=-1", {}, {}),
    ("initialConnectAttempts=1", {}, {}),
    ("initialConnectAttempts=5", {}, {"initialConnectAttempts": ("dropped", "tries each URL once")}),
    ("confirmationWindowSize=-1", {}, {}),
    ("blockOnDurableSend=false", {"block_on_durable_send": False}, {}),
    ("tcpNoDelays=false", {}, {"tcpNoDelays": ("unknown", "'tcpNoDelay'")}),
    ("confirmationWindowSizes=9", {}, {"confirmationWindowSizes": ("unknown", "'confirmationWindowSize'")}),
    ("verifyHost=false", {}, {"verifyHost": ("dropped", "host names are checked")}),
    ("socksPassword=x", {}, {"socksPassword": ("dropped", "proxies")}),
]  # fmt: skip

RABBITMQ_URI: list[Row] = [
    ("heartbeat=0", {}, {"heartbeat": ("dropped", "dead link")}),
    ("heartbeat=7200", {}, {"heartbeat": ("dropped", "cannot have this value")}),
    ("connection_timeout=0", {}, {"connection_timeout": ENDLESS}),
    ("verify=verify_none", {}, {"verify": ("dropped", "the option verify")}),
    ("server_name_indication=broker.example", {"server_name": "broker.example"}, {}),
    ("auth_mechanism=external", {"login": "external"}, {"auth_mechanism": ("assumed", "certificate")}),
    ("hearbeat=5", {}, {"hearbeat": ("unknown", "'heartbeat'")}),
]

FACTORY: list[Row] = [
    ("channelsQos=-1", {}, {"channelsQos": UNLIMITED}),
    ("channelsQos=50", {"prefetch": 50}, {}),
    ("hostnameVerification=false", {}, {"hostnameVerification": ("dropped", "the option verify")}),
    ("nackOnRollback=true", {}, {"nackOnRollback": ("dropped", "up to max_redeliveries")}),
    ("requeueOnMessageListenerException=false", {},
     {"requeueOnMessageListenerException": ("dropped", "delivered again")}),
    ("chanelsQos=5", {}, {"chanelsQos": ("unknown", "'channelsQos'")}),
    ("tlsProtocol=TLSv1.3", {}, {"tlsProtocol": ("dropped", "TLS library")}),
]  # fmt: skip

TOKEN = "authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken"
NACK = "consumerConfig.negativeAckRedelivery"
PULSAR: list[Row] = [
    (f"{NACK}DelayMicros=2000000",
     {"redelivery_delay_first": 2, "redelivery_delay": 2, "redelivery_factor": 1, "redelivery_delay_max": 2}, {}),
    (f'{NACK}Backoff={{"minDelayMs": 500, "maxDelayMs": 9000, "multiplier": 3}}',
     {"redelivery_delay_first": 0.5, "redelivery_delay": 1.5, "redelivery_factor": 3, "redelivery_delay_max": 9}, {}),
    (f"{NACK}Backoff.minDelayMs=1000\n{NACK}DelayMicros=5",
     {"redelivery_delay_first": 1, "redelivery_delay": 2, "redelivery_factor": 2, "redelivery_delay_max": 600},
     {f"{NACK}DelayMicros": ("dropped", "wins, as in Java")}),
    ("consumerConfig.deadLetterPolicy.maxRedeliverCount=4", {"max_redeliveries": 4}, {}),
    ("consumerConfig.deadLetterPolicy.deadLetterTopic=dead",
     {"redelivery": {"*": {"dead_letter_queue": "dead"}, "topic:*": {"dead_letter_queue": "dead"}}},
     {"consumerConfig.deadLetterPolicy.deadLetterTopic": ("changed", "all queues and topics")}),
    ("consumerConfig.deadLetterPolicy.retryLetterTopic=again", {},
     {"consumerConfig.deadLetterPolicy.retryLetterTopic": ("dropped", "waits in its consumer")}),
    ("consumerConfig.ackTimeoutMillis=1000", {}, {"consumerConfig.ackTimeoutMillis": ("dropped", "consumer closes")}),
    ("producerConfig.sendTimeoutMs=0", {}, {"producerConfig.sendTimeoutMs": ENDLESS}),
    ("producerConfig.maxPendingMessages=0", {}, {"producerConfig.maxPendingMessages": UNLIMITED}),
    ("consumerConfig.reciverQueueSize=3", {},
     {"consumerConfig.reciverQueueSize": ("unknown", "'consumerConfig.receiverQueueSize'")}),
    ("jms.clientID=x", {"client_id": "x"}, {}),
    ("webServiceUrl=http://a:8080,b:8080\njms.systemNamespace=shop/orders\njms.queueSubscriptionName=q",
     {"admin_url": "http://a:8080", "namespace": "shop/orders", "queue_subscription": "q"}, {}),
    ("jms.useServerSideFiltering=true\nproducerConfig.batchingEnabled=false",
     {"broker_selectors": True, "batching": False}, {"jms.useServerSideFiltering": ("changed", "on topics")}),
    ("tlsTrustCertsFilePath=/ca.pem", {}, {"tlsTrustCertsFilePath": ("dropped", "without TLS")}),
    ("brokerServiceUrl=pulsar+ssl://h\ntlsTrustCertsFilePath=/ca.pem", {"ca_file": "/ca.pem"}, {}),
    (f"{TOKEN}\nauthParams=token:Sekret-1", {"token": "${env:O_TOKEN}"}, {"authParams": ("secret", "O_TOKEN")}),
    (f"{TOKEN}\nauthParams=Sekret-1", {"token": "${env:O_TOKEN}"}, {"authParams": ("secret", "O_TOKEN")}),
    (f"{TOKEN}\nauthParams={{\"token\": \"Sekret-1\"}}", {"token": "${env:O_TOKEN}"},
     {"authParams": ("secret", "O_TOKEN")}),
    (f"{TOKEN}\nauthParams=file:///run/token", {"token_file": "/run/token"}, {}),
    (("authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationBasic\n"
     'authParams={"userId": "me", "password": "Sekret-1"}'),
     {"user": "me", "password": "${env:O_PASSWORD}"}, {"authParams": ("secret", "O_PASSWORD")}),
    (("brokerServiceUrl=pulsar+ssl://h\nauthPlugin=org.apache.pulsar.client.impl.auth.AuthenticationTls\n"
     "authParams=tlsCertFile:/c.pem,tlsKeyFile:/k.pem"), {"certificate": "/c.pem", "key": "/k.pem"}, {}),
    ("authPlugin=org.apache.pulsar.client.impl.auth.oauth2.AuthenticationOAuth2\nauthParams={}", {},
     {"authParams": ("dropped", "no equivalent")}),
    ("jms.emulateTransaction=true", {}, {"jms.emulateTransaction": ("unknown", "'jms.emulateTransactions'")}),
]  # fmt: skip

LISTENER = "spring.rabbitmq.listener.simple."
SPRING_RABBITMQ: list[Row] = [
    ("spring.rabbitmq.ssl.verify-hostname=false", {},
     {"spring.rabbitmq.ssl.verify-hostname": ("dropped", "the option verify turns that off")}),
    ("spring.rabbitmq.ssl.validateServerCertificate=false", {},
     {"spring.rabbitmq.ssl.validateServerCertificate": ("dropped", "the option verify turns that off")}),
    ("spring.rabbitmq.ssl.verify-hostname=true", {}, {}),
    ("spring.rabbitmq.ssl.bundle=x", {}, {"spring.rabbitmq.ssl.bundle": ("dropped", "PEM")}),
    ("spring.rabbitmq.connection-timeout=0", {}, {"spring.rabbitmq.connection-timeout": ENDLESS}),
    ("spring.rabbitmq.requested-heartbeat=0", {}, {"spring.rabbitmq.requested-heartbeat": ("dropped", "dead link")}),
    (f"{LISTENER}prefetch=1\nspring.rabbitmq.listener.direct.prefetch=5", {"prefetch": 1},
     {"spring.rabbitmq.listener.direct.prefetch": ("dropped", "of type simple")}),
    ("spring.rabbitmq.listener.type=direct\nspring.rabbitmq.listener.direct.prefetch=5", {"prefetch": 5}, {}),
    (f"{LISTENER}default-requeue-rejected=false", {"max_redeliveries": 0}, {}),
    (f"{LISTENER}default-requeue-rejected=true", {"max_redeliveries": -1},
     {f"{LISTENER}default-requeue-rejected": ("changed", "pauses")}),
    ((f"{LISTENER}retry.enabled=true\n{LISTENER}retry.max-attempts=5\n{LISTENER}retry.initial-interval=2s\n"
     f"{LISTENER}retry.multiplier=2"),
     {"max_redeliveries": 4, "redelivery_delay_first": 2, "redelivery_delay": 4, "redelivery_factor": 2,
      "redelivery_delay_max": 10},
     {f"{LISTENER}retry.enabled": ("changed", "by redelivery")}),
    (f"{LISTENER}retry.enabled=true\n{LISTENER}retry.max-retries=5",
     {"max_redeliveries": 5, "redelivery_delay_first": 1, "redelivery_delay": 1, "redelivery_factor": 1,
      "redelivery_delay_max": 10},
     {f"{LISTENER}retry.enabled": ("changed", "by redelivery")}),
    (f"{LISTENER}retry.max-attempts=5", {}, {f"{LISTENER}retry.max-attempts": ("dropped", "without retry.enabled")}),
    (f"{LISTENER}prefech=5", {}, {f"{LISTENER}prefech": ("unknown", f"'{LISTENER}prefetch'")}),
    ("spring.rabbitmq.usrname=me", {}, {"spring.rabbitmq.usrname": ("unknown", "'spring.rabbitmq.username'")}),
]  # fmt: skip

SPRING_CLASSIC: list[Row] = [
    ("spring.activemq.send-timeout=0", {}, {"spring.activemq.send-timeout": ENDLESS}),
    ("spring.activemq.broker-url=auto://h?jms.sendTimeout=9000\nspring.activemq.send-timeout=4s", {"send_timeout": 4},
     {"jms.sendTimeout": ("dropped", "send_timeout is set by spring.activemq.send-timeout")}),
    ("spring.activemq.user=${db.password}\ndb.password=Sekret-1", {"user": "${env:DB_PASSWORD}"},
     {"${DB_PASSWORD}": ("changed", "")}),
    ("spring.activemq.send-timeout=${T}", {}, {"spring.activemq.send-timeout": ("dropped", "in seconds"),
                                              "${T}": ("changed", "")}),
    ("spring.jms.listener.concurrency=3", {}, {"spring.jms.listener.concurrency": ("dropped", "in the program")}),
    ("spring.jms.cliend-id=x", {}, {"spring.jms.cliend-id": ("unknown", "'spring.jms.client-id'")}),
    ("spring.activemq.non-blocking-redelivery=true", {},
     {"spring.activemq.non-blocking-redelivery": ("dropped", "keeps the order")}),
]  # fmt: skip

SPRING_PULSAR: list[Row] = [
    (("spring.pulsar.consumer.dead-letter-policy.max-redeliver-count=3\n"
     "spring.pulsar.consumer.dead-letter-policy.dead-letter-topic=dead"),
     {"max_redeliveries": 3,
      "redelivery": {"*": {"dead_letter_queue": "dead"}, "topic:*": {"dead_letter_queue": "dead"}}},
     {"spring.pulsar.consumer.dead-letter-policy.dead-letter-topic": ("changed", "all queues and topics")}),
    ("spring.pulsar.producer.send-timeout=0", {}, {"spring.pulsar.producer.send-timeout": ENDLESS}),
    ("spring.pulsar.consumer.subscription.type=shared", {},
     {"spring.pulsar.consumer.subscription.type": ("dropped", "pulsar backend")}),
    ("spring.pulsar.admin.service-url=http://h:8080\nspring.pulsar.defaults.topic.namespace=orders",
     {"admin_url": "http://h:8080", "namespace": "public/orders"}, {}),
    (("spring.pulsar.client.authentication.plugin-class-name=org.apache.pulsar.client.impl.auth.AuthenticationToken\n"
     "spring.pulsar.client.authentication.param.token=Sekret-1"), {"token": "${env:O_TOKEN}"},
     {"spring.pulsar.client.authentication.param": ("secret", "O_TOKEN")}),
    ("spring.pulsar.producer.snd-timeout=3s", {},
     {"spring.pulsar.producer.snd-timeout": ("unknown", "'spring.pulsar.producer.send-timeout'")}),
]  # fmt: skip


def _url(form: str) -> list[tuple[str, Row]]:
    return [(form, row) for row in {"qpid": QPID, "classic": CLASSIC, "artemis": ARTEMIS}[form]]


CASES: list[tuple[str, Row]] = [
    *_url("qpid"),
    *_url("classic"),
    *_url("artemis"),
    *(("rabbitmq", row) for row in RABBITMQ_URI),
    *(("factory", row) for row in FACTORY),
    *(("starlight", row) for row in PULSAR),
    *(("spring rabbitmq", row) for row in SPRING_RABBITMQ),
    *(("spring classic", row) for row in SPRING_CLASSIC),
    *(("spring pulsar", row) for row in SPRING_PULSAR),
]


def read(form: str, settings: str) -> Imported:
    texts = {
        "qpid": ("url", f"failover:(amqp://h)?{settings}"),
        "classic": ("url", f"failover:(auto://h)?{settings}"),
        "artemis": ("url", f"tcp://h?{settings}"),
        "rabbitmq": ("url", f"amqps://h/v?{settings}"),
        "factory": ("properties", f"factory=com.rabbitmq.jms.admin.RMQObjectFactory\nhost=h\n{settings}"),
        "starlight": ("properties", f"brokerServiceUrl=pulsar://h\n{settings}"),
        "spring rabbitmq": ("properties", f"spring.rabbitmq.host=h\n{settings}"),
        "spring classic": ("properties", f"spring.activemq.in-memory=false\n{settings}"),
        "spring pulsar": ("properties", f"spring.pulsar.client.service-url=pulsar://h\n{settings}"),
    }
    clients = {"qpid": "qpid", "classic": "classic", "artemis": "artemis", "rabbitmq": "rabbitmq"}
    kind, text = texts[form]
    return import_text(text, kind, client=clients.get(form), name="o")


ALWAYS = {"the URL", "factory", "the factory's properties", "spring.activemq.broker-url", "spring.activemq.in-memory"}


@pytest.mark.parametrize(("form", "row"), CASES, ids=[f"{form}: {row[0]}" for form, row in CASES])
def test_a_setting_is_taken_over_exactly_or_the_reason_is_said(form: str, row: Row) -> None:
    settings, expected, notes = row
    found = read(form, settings)
    profile = {name: value for name, value in found.profile.items() if name not in ("url", "dialect")}
    assert profile == expected
    told = {note.name: note for note in found.notes if note.name not in ALWAYS}
    assert set(told) == set(notes)
    for name, (kind, reason) in notes.items():
        assert told[name].kind == kind
        assert reason in told[name].reason


def _known(table: Table) -> list[str]:
    return [name for name in table if not name.endswith("*") and len(name) > 8]


@pytest.mark.parametrize("client", java_tables())
def test_a_misspelled_name_gets_the_right_one_as_advice(client: str) -> None:
    forms = {
        "Qpid JMS": "qpid",
        "ActiveMQ Classic": "classic",
        "ActiveMQ Artemis": "artemis",
        "RabbitMQ's JMS client, properties of the factory": "factory",
        "RabbitMQ's JMS client, query of a URI": "rabbitmq",
        "Starlight for JMS": "starlight",
    }
    table = java_tables()[client]
    groups = [name[:-1] for name in table if name.endswith("*")]
    for name in _known(table):
        wrong = f"{name[:-3]}{name[-2:]}"
        form = forms.get(client) or _section(name)
        if form is None or wrong in table or wrong.startswith(tuple(groups)):
            continue
        (note,) = [note for note in read(form, f"{wrong}=1").notes if note.name == wrong]
        assert note.kind == "unknown"
        assert "did you mean" in note.reason


def _section(name: str) -> str | None:
    sections = {"spring.rabbitmq.": "spring rabbitmq", "spring.activemq.": "spring classic", "spring.jms.": None}
    return next((form for start, form in sections.items() if name.startswith(start)), None)


def test_addresses_of_spring_share_the_credentials_of_the_first() -> None:
    text = "spring.rabbitmq.addresses=app:s3cret@rabbit1,rabbit2:5673\nspring.rabbitmq.username=other\n"
    found = import_text(text, "properties", name="o")
    assert found.profile == {
        "url": ["rabbitmq://rabbit1", "rabbitmq://rabbit2:5673"],
        "user": "app",
        "password": "${env:O_PASSWORD}",
    }
    assert ("username", "dropped") in {(note.name, note.kind) for note in found.notes}


def test_addresses_may_be_a_list_with_indexes() -> None:
    text = "spring.rabbitmq.addresses[0]=a/v\nspring.rabbitmq.addresses[1]=b\n"
    assert import_text(text, "properties").profile["url"] == ["rabbitmq://a/v", "rabbitmq://b/v"]


def test_a_second_address_that_differs_is_noted() -> None:
    found = import_text("spring.rabbitmq.addresses=amqps://u:s1@a/v,amqps://w:s2@b/x\n", "properties", name="o")
    assert found.profile["url"] == ["rabbitmqs://a/v", "rabbitmqs://b/v"]
    assert found.profile["user"] == "u"
    (note,) = [note for note in found.notes if "of b" in note.name]
    assert "those of a apply to all" in note.reason
    assert "s1" not in repr(found)
    assert "s2" not in repr(found)


def test_a_list_that_java_shuffles_is_noted() -> None:
    def shuffled(options: str) -> bool:
        notes = import_text(f"failover:(auto://a,auto://b)?{options}", "url").notes
        return any("in the order given" in note.reason for note in notes)

    assert shuffled("")
    assert shuffled("randomize=true")
    assert not shuffled("randomize=false")


def test_two_users_are_noted() -> None:
    text = (
        "java.naming.factory.initial=org.apache.activemq.jndi.ActiveMQInitialContextFactory\n"
        "java.naming.provider.url=auto://h\nuserName=one\npassword=p1\n"
        "java.naming.security.principal=two\njava.naming.security.credentials=p2\n"
    )
    found = import_text(text, "properties", name="o")
    assert found.profile["user"] == "one"
    dropped = {note.name for note in found.notes if note.kind == "dropped"}
    assert {"java.naming.security.principal", "java.naming.security.credentials"} <= dropped


def _java_pauses(initial: int, delay: int, exponential: bool, multiplier: float, longest: int, count: int) -> list[int]:
    """The pauses of ActiveMQ's consumer, in milliseconds."""
    pauses = [initial]
    while len(pauses) < count:
        pause = delay
        if pauses[-1] > 0 and exponential and multiplier > 1:
            pause = int(pauses[-1] * multiplier)
            if longest != -1 and pause > longest:
                pause = max(longest, delay)
        pauses.append(pause)
    return pauses


@given(
    st.integers(0, 5000),
    st.integers(0, 5000),
    st.booleans(),
    st.sampled_from((1, 2, 3, 5)),
    st.one_of(st.just(-1), st.integers(0, 100_000)),
)
def test_redelivery_of_classic_pauses_as_in_java(
    initial: int, delay: int, exponential: bool, multiplier: int, longest: int
) -> None:
    assume(
        longest == -1 or longest >= delay
    )  # otherwise Java's pauses are not monotonic; the longest pause is the same
    options = {
        "initialRedeliveryDelay": initial,
        "redeliveryDelay": delay,
        "useExponentialBackOff": str(exponential).lower(),
        "backOffMultiplier": multiplier,
        "maximumRedeliveryDelay": longest,
    }
    text = "auto://h?" + "&".join(f"{POLICY}{name}={value}" for name, value in options.items())
    profile = dict(import_text(text, "url", client="classic").profile)
    del profile["url"]
    policy = policy_for(resolve("embedded:", profile).options, "orders", False)
    expected = _java_pauses(initial, delay, exponential, multiplier, longest, 7)
    assert [policy.delay_after(failures) * 1000 for failures in range(1, 8)] == pytest.approx(expected)


def test_a_policy_counts_redeliveries() -> None:
    assert [RedeliveryPolicy(max_redeliveries=1).is_exhausted(failures) for failures in (0, 1, 2)] == [
        False,
        False,
        True,
    ]
    assert not RedeliveryPolicy(max_redeliveries=-1).is_exhausted(10**6)
    assert RedeliveryPolicy(max_redeliveries=0).is_exhausted(1)
    assert RedeliveryPolicy(factor=1000, delay_max=7).delay_after(10**6) == 7
    assert RedeliveryPolicy(delay=0, factor=1000).delay_after(10**6) == 0


def test_names_ignore_case() -> None:
    assert read("qpid", "jms.PREFETCHPOLICY.ALL=5").profile["prefetch"] == 5


def test_a_misspelled_name_of_jndi_gets_the_right_one_as_advice() -> None:
    text = (
        "java.naming.factory.initial=org.apache.qpid.jms.jndi.JmsInitialContextFactory\n"
        "connectionfactory.f=amqp://h\nqueu.orders=orders\n"
    )
    (note,) = [note for note in import_text(text, "properties").notes if note.name == "queu.orders"]
    assert (note.kind, "did you mean 'queue'?" in note.reason) == ("unknown", True)
