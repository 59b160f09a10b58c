"""Names that a broker would not take, or not literally, are refused."""

import pytest

from jmsbridge.spi import Address, AddressRefused, ClientIdRefused, Endpoint
from jmsbridge.transport.literal_names import check_client_id, check_key
from jmsbridge_amqp.connection.products import ARTEMIS, CLASSIC, GENERIC, Product


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("a::b", ARTEMIS),
        ("a?consumer-priority=1", ARTEMIS),
        ("a.*", ARTEMIS),
        ("#.b", ARTEMIS),
        ("a,b", CLASSIC),
        ("a?consumer.exclusive=true", CLASSIC),
        ("a.>", CLASSIC),
        ("a\ud800", GENERIC),
    ],
)
def test_what_has_a_meaning_is_refused(name: str, product: Product) -> None:
    with pytest.raises(AddressRefused, match=product.name):
        product.check(Address(name))


def test_other_names_are_literal() -> None:
    for product in (ARTEMIS, CLASSIC, GENERIC):
        product.check(Address("a.b*c#d/e|f ü😀"))  # does not raise
    assert GENERIC.syntax == ()


def test_ids_and_subscriptions_are_unicode() -> None:
    check_key("ü😀?", "Broker")  # does not raise
    CLASSIC.check_key("a?b", None)  # does not raise
    ARTEMIS.check_key("a?b", "client")  # does not raise
    with pytest.raises(AddressRefused, match="Artemis"):
        ARTEMIS.check_key("a?b", None)
    check_client_id(Endpoint(scheme="x", client_id="ü😀"))  # does not raise
    check_client_id(Endpoint(scheme="x"))  # does not raise
    with pytest.raises(AddressRefused, match="Broker"):
        check_key("\ud83d", "Broker")
    with pytest.raises(ClientIdRefused, match="ude00"):
        check_client_id(Endpoint(scheme="x", client_id="\ude00"))
