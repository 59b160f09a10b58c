"""``Connection.capabilities``: whether each feature is native, emulated or refused, and its price."""

import pytest

import jmsbridge
from jmsbridge import Connection, IllegalStateException, IllegalStateRuntimeException, JMSContext, UnsupportedFeature
from jmsbridge.config.features import FEATURES
from jmsbridge.spi import Native
from jmsbridge.testing.scripted import ScriptedBackend


def test_the_embedded_broker_has_every_feature(connection: Connection, context: JMSContext) -> None:
    capabilities = connection.capabilities
    assert list(capabilities) == [row.name for row in FEATURES]
    assert {each.outcome for each in capabilities.values()} == {"native"}
    assert {each.price for each in capabilities.values()} == {""}
    assert context.capabilities == capabilities


def test_missing_features_are_reported_as_they_are_used() -> None:
    lacks = Native.TRANSACTIONS | Native.SEND_TRANSACTIONS | Native.DELAY | Native.NO_LOCAL
    with ScriptedBackend(native=~lacks).installed(), jmsbridge.connect("scripted:") as connection:
        told = connection.capabilities
        assert {name: each.outcome for name, each in told.items() if each.outcome != "native"} == {
            "transactions": "emulated",
            "send_transactions": "emulated",
            "send_groups": "emulated",
            "delivery_delay": "refused",
            "no_local": "refused",
        }
        assert told["transactions"].text == "local transaction"
        assert "never loss" in told["transactions"].price
        assert "not atomic" in told["send_transactions"].price
        with (
            pytest.warns(jmsbridge.EmulationWarning, match="never loss"),
            pytest.warns(jmsbridge.EmulationWarning, match="not atomic"),
        ):
            connection.create_session(transacted=True)
        with pytest.raises(UnsupportedFeature, match="own messages come back"):
            connection.create_session().create_consumer(jmsbridge.Topic("news"), None, True)


def test_the_setting_of_the_connection_counts() -> None:
    with (
        ScriptedBackend(native=~(Native.DELAY | Native.BROWSE)).installed(),
        jmsbridge.connect("scripted:", emulation={"delivery_delay": "allow", "browse": "refuse"}) as connection,
    ):
        told = connection.capabilities
        assert (told["delivery_delay"].outcome, told["browse"].outcome) == ("emulated", "refused")


def test_a_reconnect_to_a_broker_with_fewer_features_is_visible() -> None:
    with (
        ScriptedBackend().installed() as backend,
        jmsbridge.connect("scripted:", reconnect_delay=0.001) as connection,
    ):
        before = connection.capabilities["no_local"]
        backend.lower(Native.NO_LOCAL)
        backend.link.cut()
        after = connection.capabilities["no_local"]
        assert (before.outcome, after.outcome) == ("native", "refused")


def test_a_closed_connection_says_nothing(connection: Connection, context: JMSContext) -> None:
    connection.close()
    context.close()
    with pytest.raises(IllegalStateException):
        _ = connection.capabilities
    with pytest.raises(IllegalStateRuntimeException):
        _ = context.capabilities
