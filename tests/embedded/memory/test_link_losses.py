"""Prefetched messages survive any number of lost links."""

import jmsbridge
import jmsbridge_embedded
from jmsbridge.testing.suite.support import text_of


def test_lost_links_never_dead_letter_a_prefetched_message() -> None:
    with jmsbridge.connect("embedded:?broker=deaths", reconnect_delay=0.001, reconnect_delay_max=0.001) as connection:
        connection.start()
        session = connection.create_session()
        queue = session.create_queue("orders")
        consumer = session.create_consumer(queue)
        session.create_producer(queue).send("unseen")
        for _ in range(9):
            jmsbridge_embedded.cut("deaths")
            connection.create_session().close()  # waits until the link is back
        message = consumer.receive(timeout=5)
        assert text_of(message) == "unseen"
        assert message is not None
        assert message.jms_redelivered
        assert message.get_int_property("JMSXDeliveryCount") == 2
