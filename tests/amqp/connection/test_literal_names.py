"""Names that a broker would not take literally are refused."""

import pytest

from jmsbridge.spi import Address, AddressRefused
from jmsbridge_amqp.connection.literal_names import check_name
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
    ],
)
def test_what_has_a_meaning_is_refused(name: str, product: Product) -> None:
    with pytest.raises(AddressRefused, match=product.name):
        check_name(Address(name), product)


def test_other_names_are_literal() -> None:
    for product in (ARTEMIS, CLASSIC, GENERIC):
        check_name(Address("a.b*c#d/e|f ü"), product)  # does not raise
    with pytest.raises(AddressRefused):
        check_name(Address("a.*"), CLASSIC)
    assert GENERIC.syntax == ()
