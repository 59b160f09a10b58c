"""SCRAM, and what a user reads who cannot log in so."""

import pytest

import jmsbridge
from integration.lab.broker import Broker
from jmsbridge import JMSException, JMSSecurityException

proton = pytest.importorskip("proton", reason="python-qpid-proton is not installed: pip install 'jmsbridge[amqp]'")
pytestmark = pytest.mark.broker("brokerj")

with_cyrus = pytest.mark.skipif(
    not proton.SASL.extended(),
    reason="python-qpid-proton was built without Cyrus SASL: install libsasl2-dev and reinstall it",
)


@with_cyrus
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-1"])
def test_a_client_logs_in(brokerj: Broker, monkeypatch: pytest.MonkeyPatch, mechanism: str) -> None:
    monkeypatch.setattr("jmsbridge_amqp.connection.mechanisms._MECHANISMS", {"scram": mechanism})
    with jmsbridge.connect(brokerj.url(), login="scram") as connection:
        session = connection.create_session()
        queue = session.create_temporary_queue()
        connection.start()
        session.create_producer(queue).send("by SCRAM")
        message = session.create_consumer(queue).receive(timeout=30)
        assert message is not None
        assert message.get_body(str) == "by SCRAM"


@with_cyrus
def test_a_wrong_password_is_refused(brokerj: Broker) -> None:
    with pytest.raises(JMSSecurityException, match="check user and password"):
        jmsbridge.connect(brokerj.url(), password="wrong", login="scram")


@pytest.mark.skipif(proton.SASL.extended(), reason="python-qpid-proton was built with Cyrus SASL")
def test_without_cyrus_sasl_the_error_has_the_remedy(brokerj: Broker) -> None:
    with pytest.raises(JMSException, match=r"without Cyrus SASL.* libsasl2-dev"):
        jmsbridge.connect(brokerj.url(), login="scram")


def test_where_no_mechanism_fits_the_error_names_those_of_the_broker(brokerj: Broker) -> None:
    with pytest.raises(JMSSecurityException, match=r"needs .* ANONYMOUS.* offers .*SCRAM-SHA-256.*: set user and pass"):
        jmsbridge.connect(brokerj.url(), login="anonymous")
