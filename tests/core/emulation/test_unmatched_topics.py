"""Selectors on topics where the broker has none: what they do not match waits for no commit."""

import pytest

from jmsbridge import Session, Topic
from jmsbridge.spi import Native
from jmsbridge.testing.suite.support import send_coloured, text_of
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from tests.core.emulation.support import Broker

TOPIC = Topic("paints")


def unsettled(session: Session) -> int:
    return len(session._core.incoming.policy.unsettled())


@pytest.mark.parametrize("native", [NATIVE, NATIVE | Native.SEND_TRANSACTIONS], ids=["emulated", "ordered"])
@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_it_is_settled_at_once_where_settlements_belong_to_no_transaction(broker: Broker, native: Native) -> None:
    """The program has nothing to commit, and may wait for a match for days."""
    broker.backend.native = native
    session = broker.session(True)
    consumer = session.create_consumer(TOPIC, "colour = 'red'")
    send_coloured(broker.session(), TOPIC, *["green"] * 20, "red")
    assert text_of(consumer.receive(timeout=5)) == "red"
    assert unsettled(session) == 1
    session.rollback()
    assert text_of(consumer.receive(timeout=5)) == "red"
    assert unsettled(session) == 1
