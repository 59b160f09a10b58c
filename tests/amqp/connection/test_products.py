"""Brokers are known by what they say when the connection opens."""

from jmsbridge.spi import Native
from jmsbridge_amqp.connection.capabilities import native_of
from jmsbridge_amqp.connection.products import ARTEMIS, CLASSIC, GENERIC, product_of


def test_known_products_have_their_row() -> None:
    row, name = product_of({"product": "apache-activemq-artemis", "version": "2.56.0"})
    assert (row, name) == (ARTEMIS, "Artemis 2.56.0")
    row, name = product_of({"product": "ActiveMQ", "version": "6.3.1", "topic-prefix": "topic://"})
    assert (row, name) == (CLASSIC, "ActiveMQ Classic 6.3.1")


def test_others_are_generic_and_have_the_prefixes_that_they_say() -> None:
    row, name = product_of({"product": "qpid", "version": "9", "queue-prefix": "q/"})
    assert (row.name, row.queue_prefix, row.topic_prefix, name) == (GENERIC.name, "q/", "", "qpid 9")
    assert product_of(None)[1] == "the broker"


def test_offers_add_to_what_a_product_can_do() -> None:
    assert Native.SHARED not in native_of(ARTEMIS, [], "DLQ")
    assert Native.SHARED | Native.DELAY in native_of(ARTEMIS, ["SHARED-SUBS", "DELAYED_DELIVERY"], "DLQ")
    assert Native.REJECT not in native_of(ARTEMIS, [], "")
