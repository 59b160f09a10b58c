"""The simplified API: plain bodies, chained settings, bodies of a type."""

from typing import assert_type

import jmsbridge
from jmsbridge import CLIENT_ACKNOWLEDGE, JavaValue, JMSConsumer, JMSContext, JMSProducer, Message, Short


def bodies(consumer: JMSConsumer) -> list[object]:
    text = assert_type(consumer.receive_body(str, timeout=5), str | None)
    data = assert_type(consumer.receive_body(bytes, timeout=5), bytes | None)
    fields = assert_type(consumer.receive_body(dict, timeout=5), dict[str, JavaValue] | None)
    values = assert_type(consumer.receive_body_no_wait(list), list[JavaValue] | None)
    anything = assert_type(consumer.receive_body(object, timeout=0), object | None)
    return [text, data, sorted(fields or ()), values, anything]


def whole(context: JMSContext, consumer: JMSConsumer) -> list[str]:
    texts: list[str] = []
    for message in consumer:
        assert_type(message, Message)
        texts.append(message.get_body(str) or "")
        message.acknowledge()
        if len(texts) == 2:
            consumer.close()
    return texts


def main(url: str) -> list[object]:
    with jmsbridge.context(url, CLIENT_ACKNOWLEDGE) as context:
        orders = context.create_queue("orders")
        producer = assert_type(context.create_producer().set_priority(7).set_time_to_live(60), JMSProducer)
        producer.set_property("rush", True).set_property("count", Short(2)).set_property("note", None)
        producer.send(orders, "text").send(orders, b"bytes").send(orders, {"count": Short(2), "name": "n"})
        producer.send(orders, [1, "two", {"three": 3.0}])
        consumer = context.create_consumer(orders, "rush = TRUE")
        found = bodies(consumer)
        producer.send(orders, "a").send(orders, "b")
        return [*found, *whole(context, consumer)]
