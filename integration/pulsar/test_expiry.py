"""Expired messages on a real Pulsar, which delivers them: the client drops them."""

import time

import jmsbridge
from integration.lab.broker import Broker


def test_expired_messages_use_no_credit(pulsar: Broker) -> None:
    """More of them than the prefetch do not keep a consumer from what is behind them."""
    with jmsbridge.connect(f"{pulsar.url()}?batching=false&prefetch=1") as connection:
        session = connection.create_session()
        queue = session.create_queue(f"expiry-{time.time_ns()}")
        producer = session.create_producer(queue)
        for _ in range(5):
            producer.send(session.create_text_message("late"), time_to_live=0.05)
        producer.send(session.create_text_message("in time"))
        time.sleep(0.2)  # sleep: until they have expired
        connection.start()
        received = session.create_consumer(queue).receive(timeout=5)
        assert isinstance(received, jmsbridge.TextMessage)
        assert received.text == "in time"
