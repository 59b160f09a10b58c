"""Names that a broker would not take literally. Pure."""

from jmsbridge.spi import Address, AddressRefused
from jmsbridge_amqp.connection.products import Product

__all__ = ["check_name"]


def check_name(address: Address, product: Product) -> None:
    """AddressRefused for a name in which this broker finds a wildcard, an option, or more than one name."""
    name = address.name
    for part in product.syntax:
        if part in name:
            raise AddressRefused(f"{address}: {part!r} has a meaning of its own in names of {product.name}")
    if product.wildcards and any(word in product.wildcards for word in name.split(".")):
        raise AddressRefused(f"{address}: a word {' or '.join(product.wildcards)} is a wildcard of {product.name}")
