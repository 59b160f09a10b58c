"""What does not survive on the way through RabbitMQ, per dialect, and why.

Between two jmsbridge programs every header, property and body comes back with its type, but for the first entries.
"""

from typing import Final

__all__ = ["LOSSES"]

_ALWAYS: Final = {
    "JMSXDeliveryCount": "a sender's value is replaced: the count is the provider's",
    "lone surrogates": "they come back to jmsbridge; others see replacement characters",
    "CC and BCC": "RabbitMQ takes headers of these names as further routing keys, so such properties travel under"
    " another name that only jmsbridge reads",
    "headers of the broker": "x-death, x-delivery-count and their like tell what the broker did: no properties",
}

LOSSES: Final[dict[str, dict[str, str]]] = {
    "amqp": {
        **_ALWAYS,
        "foreign tables and arrays": "JMS has no type for them in properties; nor for bytes that are no text",
        "foreign numbers and times": "unsigned integers become the next wider type, timestamps a long of milliseconds,"
        " decimals a double",
        "foreign content type": "it decides between TextMessage and BytesMessage, and is not shown",
        "foreign expiration": "only the broker knows when its time began, and it alone enforces it: JMSExpiration is 0",
        "from Java: TextMessage": "the Java client marks texts only with keepTextMessageType; without it they are"
        " BytesMessages, to its own readers as well",
        "from Java: expiration": "the client sends the time that remains; the absolute one is off by the send",
        "to Java: TextMessage": "a BytesMessage, but with the option text_marker and no JMSType",
        "to Java: other kinds": "MapMessage, StreamMessage, ObjectMessage and Message are BytesMessages: the client has"
        " only texts and bytes at its AMQP destinations, both ways",
        "to Java: null texts": "there is an empty text",
        "to Java: notes": "what AMQP has no place for is a header x-jb-…, shown as a property there: a text that"
        " is null, what kind of reply-to destination it is, a correlation id of bytes, that it is a dead letter",
        "to Java: property types": "the client reads every property as a String",
        "to others: NaN and infinities": "in properties they are the texts NaN, Infinity and -Infinity, and the header"
        " x-jb-floats names them: RabbitMQ ends the connection that sends such a number",
        "to others: names beyond 255 bytes": "such properties are x-jb-long-0 and so on, and the header x-jb-long has"
        " their names",
        "to Java: JMSX properties": "the client ignores every header that begins with JMS and is none of its own",
        "to Java: JMSType": "where there is none, the client shows TextMessage or BytesMessage",
        "to Java: JMSReplyTo": "a plain queue of that name, and only with the client's HandleAnyReplyToStrategy",
        "to Java: null properties": "they are absent: a header without value ends the broker's selectors",
        "to Java: JMSDeliveryTime": "the client has no place for it at its AMQP destinations",
    },
    "jms": {
        **_ALWAYS,
        "to Java: correlation id as bytes": "the client keeps it as text: bytes that are no UTF-8 change",
        "in headers: NaN and infinities": "such properties are in the body, which Java reads, and in no header:"
        " RabbitMQ ends the connection that sends such a number",
        "in headers: names beyond 255 bytes": "such properties are in the body alone",
        "texts beyond 65,535 bytes": "in properties, names and fields the client's format has no room: refused",
        "from Java: Message": "the client makes a TextMessage without text of it",
    },
}
"""By dialect, then by what is concerned."""
