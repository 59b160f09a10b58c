"""Properties and YAML files: the choice of client, factory and Spring profile, placeholders, hostile input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.config.java import import_text
from jmsbridge.errors import ConfigurationError

QPID = "java.naming.factory.initial=org.apache.qpid.jms.jndi.JmsInitialContextFactory\n"


def test_one_of_several_factories() -> None:
    text = QPID + "connectionfactory.a=amqp://a\nconnectionfactory.b=amqp://b\n"
    assert import_text(text, "properties").profile == {"url": "amqp://a"}
    assert import_text(text, "properties", factory="b").profile == {"url": "amqp://b"}
    with pytest.raises(ConfigurationError, match="no connection factory 'c'"):
        import_text(text, "properties", factory="c")


def test_placeholders_come_from_the_file_the_environment_or_their_default() -> None:
    text = (
        QPID + "host=a\nconnectionfactory.f=amqp://${host}:${PORT}?jms.clientID=${ID:-me}&jms.password=${P:-Sekret}\n"
    )
    found = import_text(text, "properties", name="orders")
    assert found.profile == {"url": "amqp://a:${env:PORT}", "password": "${env:ORDERS_PASSWORD}", "client_id": "me"}
    assert "Sekret" not in repr(found)


def test_a_password_with_a_placeholder_keeps_its_place() -> None:
    text = "spring.activemq.broker-url=tcp://h:61616\nspring.activemq.password=${my.secret-word:Sekret}\n"
    assert import_text(text, "properties").profile["password"] == "${env:MY_SECRET_WORD}"


def test_a_placeholder_that_names_itself_ends() -> None:
    text = "spring.activemq.user=${spring.activemq.user}\nspring.activemq.broker-url=tcp://h\n"
    assert import_text(text, "properties").profile["url"] == "amqp://h:5672"


def test_spring_profiles() -> None:
    text = (
        "spring: {artemis: {host: a, user: me}}\n---\n"
        "spring: {config: {activate: {on-profile: 'prod, stage'}}, artemis: {host: b}}\n"
    )
    assert import_text(text, "yaml").profile == {"url": "amqp://a:61616", "user": "me"}
    assert import_text(text, "yaml", spring_profile="stage").profile == {"url": "amqp://b:61616", "user": "me"}
    with pytest.raises(ConfigurationError, match="'test'"):
        import_text(text, "yaml", spring_profile="test")


def test_relaxed_names() -> None:
    for name in ("brokerUrl", "broker-url", "BROKER_URL"):
        found = import_text(f"spring: {{activemq: {{{name}: 'auto://h:1', closeTimeout: 5s}}}}", "yaml")
        assert found.profile == {"url": "amqp://h:1", "close_timeout": 5}


def test_one_of_several_brokers() -> None:
    text = "spring: {activemq: {broker-url: 'tcp://a'}, rabbitmq: {host: b, virtualHost: v}}"
    found = import_text(text, "yaml")
    assert found.client == "classic"
    assert any("--client rabbitmq" in note.reason for note in found.notes)
    assert import_text(text, "yaml", client="rabbitmq").profile == {"url": "rabbitmq://b/v"}
    with pytest.raises(ConfigurationError, match="no settings for"):
        import_text(text, "yaml", client="pulsar")


def test_the_broker_inside_the_process() -> None:
    assert import_text("spring: {artemis: {mode: embedded}}", "yaml").profile == {"url": "embedded:"}
    assert import_text("spring.activemq.in-memory=true", "properties").profile == {"url": "embedded:"}


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("", "properties", "names a broker"),
        ("a=b", "properties", "names a broker"),
        ("server.port=1", "properties", "no settings"),
        ("a: [", "yaml", "not valid YAML, line"),
        ("- 1", "yaml", "not a map"),
        ("a=\\u00zz", "properties", "malformed"),
        ("x", "ini", "unknown kind 'ini'"),
        ("a: &a [*a]", "yaml", "too deeply"),
        ("java.naming.factory.initial=org.apache.qpid.jndi.PropertiesFileInitialContextFactory", "properties", "0-9"),
        (QPID, "properties", "connectionfactory.NAME"),
        ("brokerServiceUrl=pulsar://a\nconsumerConfig={", "properties", "not JSON"),
        ("!!python/object/apply:os.getcwd []", "yaml", "not valid YAML"),
    ],
)
def test_what_cannot_be_imported_says_why(text: str, kind: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        import_text(text, kind)
    assert expected in str(caught.value)


def test_an_unknown_client_gets_the_nearest_as_advice() -> None:
    with pytest.raises(ConfigurationError, match="'artemis'"):
        import_text("tcp://a", "url", client="artemiss")
    with pytest.raises(ConfigurationError, match="amqp or stomp"):
        import_text("tcp://a", "url", prefer="mqtt")


def test_a_file_that_grows_when_it_is_read_is_refused() -> None:
    layers = ["a0: &a0 {x: 1, y: 2}"]
    layers += [f"a{n}: &a{n} {{p: *a{n - 1}, q: *a{n - 1}, r: *a{n - 1}}}" for n in range(1, 20)]
    with pytest.raises(ConfigurationError, match="too many"):
        import_text("\n".join(layers), "yaml")


@given(st.text(alphabet="amqptcs:/()?&=,.#@{}$%[]- \n1", max_size=60), st.sampled_from(("url", "properties", "yaml")))
def test_any_text_gives_a_profile_or_a_configuration_error(text: str, kind: str) -> None:
    try:
        url = import_text(text, kind).profile["url"]
    except ConfigurationError as error:
        url = str(error)
    assert url
