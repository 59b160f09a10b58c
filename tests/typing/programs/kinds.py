"""The six kinds of messages, their values and properties."""

from typing import assert_type

import jmsbridge
from jmsbridge import (
    Byte,
    BytesMessage,
    FieldValue,
    JavaValue,
    MapMessage,
    Message,
    ObjectMessage,
    PropertyValue,
    StreamMessage,
    TextMessage,
)


def describe(message: Message) -> str:
    """A program that handles every kind of message."""
    match message:
        case TextMessage():
            return message.text or ""
        case MapMessage():
            return ", ".join(f"{name}={value!r}" for name, value in sorted(message.body.items()))
        case BytesMessage():
            return f"{assert_type(message.read_int(), int)} {assert_type(message.read_utf(), str)}"
        case StreamMessage():
            return f"{assert_type(message.read_object(), FieldValue)!r}"
        case ObjectMessage():
            value = assert_type(message.object, JavaValue)
            return f"{len(value)} of them" if isinstance(value, list) else repr(value)
    return "nothing"


def properties(message: Message) -> dict[str, PropertyValue]:
    found = {name: message.properties[name] for name in message.properties if not name.startswith("JMS")}
    assert_type(message.get_int_property("count"), int)
    assert_type(message.get_byte_property("small"), Byte)
    assert_type(message.get_string_property("name"), str | None)
    assert_type(message.get_object_property("count"), PropertyValue)
    return found


def main(url: str) -> list[str]:
    with jmsbridge.context(url) as context:
        queue = context.create_queue("kinds")
        producer = context.create_producer().set_property("count", 3).set_property("small", Byte(1))
        fields = context.create_map_message()
        fields.body.update({"count": 3, "price": 9.5})
        data = context.create_bytes_message()
        data.write_int(1)
        data.write_utf("one")
        stream = context.create_stream_message()
        stream.write_object(1.5)
        for message in (context.create_text_message("text"), fields, data, stream, context.create_message()):
            producer.send(queue, message)
        producer.send(queue, [1, 2])
        found: list[str] = []
        consumer = context.create_consumer(queue)
        while (received := assert_type(consumer.receive_no_wait(), Message | None)) is not None:
            assert properties(received) == {"count": 3, "small": 1}
            found.append(describe(received))
        return found
