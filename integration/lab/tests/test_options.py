"""The effect of each option of the real brokers, and the administration of Artemis."""

import socket
import ssl
import urllib.error
import urllib.request

import pytest

from integration.lab.admin.artemis import Management
from integration.lab.admin.pulsar import token
from integration.lab.admin.rest import Rest
from integration.lab.admin.stomp import Stomp
from integration.lab.broker import Broker
from integration.lab.errors import BrokerFailed
from integration.lab.fixtures import StartBroker
from integration.lab.running import probes
from integration.lab.table import CLIENT_CERTIFICATES, HOST, LOGINS, NO_FILTER, NO_XSTREAM

pytestmark = pytest.mark.timeout(240)

REFUSED = (BrokerFailed, OSError)  # an alert of TLS is an OSError, and so is a reset


def demands_certificates(broker: Broker) -> None:
    """Every listener with TLS refuses a client without certificate; those without TLS do not need one."""
    for listener in ("amqps", "stomps"):
        with pytest.raises(REFUSED), socket.create_connection((HOST, broker.ports[listener]), 15) as plain:
            bare = broker.certificates.context(shown=False)
            with bare.wrap_socket(plain, server_hostname="localhost") as link:
                link.recv(1)  # with TLS 1.3 the server's refusal arrives only now
    with pytest.raises(REFUSED):
        Stomp(broker.ports["stomps"], tls=broker.certificates.context(shown=False))
    with Stomp(broker.ports["stomps"], tls=broker.certificates.context()) as link:
        send(link)
    with Stomp(broker.ports["stomp"]) as link:
        send(link)


def send(link: Stomp, body: str = "hello", **headers: str) -> None:
    """One message, confirmed."""
    link.send("SEND", {"destination": "/queue/kept", "receipt": "1", **headers}, body)
    link.expect("RECEIPT")


def sasl_external(broker: Broker, *, shown: bool = True) -> bytes:
    """The outcome code of a login by certificate over AMQP 1.0, or nothing where the server just ended it."""
    with (
        socket.create_connection((HOST, broker.ports["amqps"]), 15) as plain,
        broker.certificates.context(shown=shown).wrap_socket(plain, server_hostname="localhost") as link,
    ):
        link.sendall(b"AMQP\x03\x01\x00\x00")
        init = b"\x00\x53\x41\xc0\x0d\x02\xa3\x08EXTERNAL\xa0\x00"
        got = b""
        try:
            link.sendall((len(init) + 8).to_bytes(4) + b"\x02\x01\x00\x00" + init)
            while b"\x00\x53\x44" not in got and (part := link.recv(1000)):
                got += part
        except ssl.SSLEOFError:  # it has ended the connection already
            assert not shown
        assert b"EXTERNAL" in got or not shown
        return got[-1:]


@pytest.mark.broker("artemis")
def test_artemis_requires_certificates_which_log_in(own_broker: StartBroker) -> None:
    with own_broker("artemis", CLIENT_CERTIFICATES) as broker:
        assert broker.options == (CLIENT_CERTIFICATES,)
        demands_certificates(broker)
        assert sasl_external(broker) == b"\x00"
        may_manage(broker)


@pytest.mark.broker("artemis")
def test_artemis_without_the_option_accepts_a_certificate_but_requires_none(own_broker: StartBroker) -> None:
    with own_broker("artemis") as broker:
        with Stomp(broker.ports["stomps"], tls=broker.certificates.context(shown=False)) as link:
            send(link)
        may_manage(broker)


def may_manage(broker: Broker) -> None:
    """Whether a client with the certificate, but no password, has the rights of the user."""
    with Management(broker.ports["stomps"], None, tls=broker.certificates.context()) as management:
        assert "DLQ" in management.depths()
    with (
        pytest.raises(BrokerFailed, match="AMQ339011"),
        Management(broker.ports["stomp"], None) as guest,
    ):
        guest.depths()


@pytest.mark.broker("brokerj")
def test_brokerj_demands_certificates_which_log_in(own_broker: StartBroker) -> None:
    with own_broker("brokerj", CLIENT_CERTIFICATES) as broker:
        assert sasl_external(broker) == b"\x00"
        assert sasl_external(broker, shown=False) == b""


@pytest.mark.broker("activemq")
def test_activemq_requires_certificates_which_log_in(own_broker: StartBroker) -> None:
    with own_broker("activemq", CLIENT_CERTIFICATES) as broker:
        demands_certificates(broker)
        with Stomp(broker.ports["stomps"], None, tls=broker.certificates.context()) as link:
            send(link)
        stranger = broker.certificates.context(shown=False)  # of the same authority, but of an unknown user
        stranger.load_cert_chain(broker.certificates.server, broker.certificates.server_key)
        with pytest.raises(REFUSED):
            Stomp(broker.ports["stomps"], tls=stranger)
        with pytest.raises(REFUSED):
            Stomp(broker.ports["stomp"], "wrong")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.broker(n)) for n in ("rabbitmq", "rabbitmq3")])
def test_rabbitmq_requires_certificates(name: str, own_broker: StartBroker) -> None:
    with own_broker(name, CLIENT_CERTIFICATES) as broker:
        demands_certificates(broker)


@pytest.mark.broker("activemq")
def test_activemq_converts_objects_for_stomp(own_broker: StartBroker) -> None:
    with own_broker("activemq") as broker:
        objects = "<list><int>1</int><string>two</string></list>"
        assert converted(broker, objects) == objects


@pytest.mark.broker("activemq")
def test_activemq_without_xstream_does_not(own_broker: StartBroker) -> None:
    with own_broker("activemq", NO_XSTREAM) as broker:
        with pytest.raises(REFUSED):
            converted(broker, "<list><int>1</int></list>")
        assert "com/thoughtworks/xstream" in broker.log()


def converted(broker: Broker, objects: str) -> str:
    """An ObjectMessage that was sent as XML, as a consumer that requests XML receives it."""
    with Stomp(broker.ports["stomp"]) as link:
        send(link, objects, transformation="jms-object-xml")
        link.send("SUBSCRIBE", {"id": "1", "destination": "/queue/kept", "transformation": "jms-object-xml"})
        headers, body = link.expect("MESSAGE")
    assert headers["transformation"] == "jms-object-xml"
    return "".join(line.strip() for line in body.splitlines())


@pytest.mark.broker("artemis")
def test_artemis_is_administered_by_messages(own_broker: StartBroker) -> None:
    with own_broker("artemis") as broker:
        with Management(broker.ports["stomp"]) as first, Management(broker.ports["stomp"]) as second:
            first.create("kept")
            first.create("odd:name,ü")
            with Stomp(broker.ports["stomp"]) as link:
                for _ in range(3):
                    send(link)
            expected = {"DLQ": 0, "ExpiryQueue": 0, "kept": 3, "odd:name,ü": 0}
            assert first.depths() == second.depths() == expected
            with pytest.raises(BrokerFailed, match="createQueue"):
                first.create("kept")
            assert first.empty("kept") == 3
            assert second.depths()["kept"] == 0
            second.delete("odd:name,ü")
            with pytest.raises(BrokerFailed, match="destroyQueue"):
                second.delete("odd:name,ü")
            assert first.names("getQueueNames") == ["DLQ", "ExpiryQueue", "kept"]
        with Management(broker.ports["stomp"]) as third:
            everything = third.call("broker", "getQueueNames")
            assert len([queue for queue in everything if queue.startswith("jmsbridge.management.")]) == 1


@pytest.mark.broker("artemis")
def test_artemis_gets_users_and_other_passwords(own_broker: StartBroker) -> None:
    with own_broker("artemis") as broker, Management(broker.ports["stomp"]) as management:
        for password, before in (("first", "none"), ("second", "first")):
            management.set_password("app", password)
            with Stomp(broker.ports["stomp"], password, user="app") as link:
                send(link)
            with pytest.raises(REFUSED):
                Stomp(broker.ports["stomp"], before, user="app")


TOPIC = "/admin/v2/persistent/public/default/colours"


def selected(broker: Broker) -> tuple[int, int]:
    """Of ten messages, five of them red: how many a selector for red delivers on the server, red and others."""
    broker.admin.put(TOPIC)
    broker.admin.put(f"{TOPIC}/subscription/reds", {})
    broker.admin.put(
        f"{TOPIC}/subscription/reds/properties", {"jms.filtering": "true", "jms.selector": "colour = 'red'"}
    )
    colours = [{"payload": "x", "properties": {"colour": ("red", "blue")[n % 2]}} for n in range(10)]
    broker.admin.post(
        "/topics/persistent/public/default/colours",
        {
            "producerName": "test",
            "keySchema": "",
            "valueSchema": '{"name":"","schema":"","type":"STRING","properties":{}}',
            "messages": colours,
        },
    )
    seen = broker.admin.post(f"{TOPIC}/subscription/reds/analyzeBacklog")
    return seen["filterAcceptedMessages"], seen["filterRejectedMessages"]


@pytest.mark.broker("pulsar")
def test_pulsar_without_the_filter_selects_nothing(own_broker: StartBroker) -> None:
    with own_broker("pulsar", NO_FILTER) as broker:
        assert selected(broker) == (10, 0)


@pytest.mark.broker("pulsar")
def test_pulsar_with_logins_and_its_filter(own_broker: StartBroker) -> None:
    with own_broker("pulsar", LOGINS) as broker:
        port, tls = broker.ports["binary"], broker.certificates
        login = f"{broker.user}:{broker.password}"
        assert broker.url() == f"pulsar://{login}@{HOST}:{port}"
        for good in (("basic", login), ("token", token(broker.user))):
            assert probes.pulsar(port, login=good)() == ""
            assert probes.pulsar(broker.ports["tls"], tls, login=good)() == ""
        for bad in (None, ("basic", f"{broker.user}:wrong"), ("token", token(broker.user)[:-4] + "xxxx")):
            assert probes.pulsar(port, login=bad)() != ""
        anyone = Rest(broker.admin.base)
        with pytest.raises(BrokerFailed, match="401"):
            anyone.get(TOPIC.rpartition("/")[0])
        assert status(broker, token(broker.user)) == 200
        assert status(broker, token("another")) == 403
        assert selected(broker) == (5, 5)
        broker.purge()


def status(broker: Broker, bearer: str) -> int:
    """The HTTP status of a request with a token."""
    address = broker.admin.base + TOPIC.rpartition("/")[0]
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {bearer}"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=15) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
