"""What a proton without Cyrus SASL cannot do."""

import pytest

from jmsbridge_amqp.connection.mechanisms import limits_of_proton


@pytest.mark.parametrize("extended", [False, True])
def test_a_build_without_cyrus_sasl_says_so(monkeypatch: pytest.MonkeyPatch, extended: bool) -> None:
    monkeypatch.setattr("proton.SASL.extended", lambda: extended)
    assert ("libsasl2-dev" in limits_of_proton()) is not extended
    assert ("scram" in limits_of_proton()) is not extended
