"""What is lost or changed on the way through RabbitMQ, per dialect, and why.

Between two jmsbridge programs, every header, property and body keeps its value and type, except for the first entries.
"""

from typing import Final

__all__ = ["LOSSES"]

_ALWAYS: Final = {
    "JMSXDeliveryCount": "a sender's value is replaced by the provider's count",
    "lone surrogates": "jmsbridge reads them; other programs see replacement characters",
    "CC and BCC": "RabbitMQ uses headers of these names as further routing keys, so such properties are sent under"
    " another name, which only jmsbridge reads",
    "headers of the broker": "x-death, x-delivery-count and similar headers are not shown as properties",
}

LOSSES: Final[dict[str, dict[str, str]]] = {
    "amqp": {
        **_ALWAYS,
        "foreign tables and arrays": "dropped: JMS has no property type for them, nor for bytes that are not a text",
        "foreign numbers and times": "unsigned integers become the next wider type, timestamps a long of milliseconds,"
        " decimals a double",
        "foreign content type": "it decides between TextMessage and BytesMessage, and is not shown",
        "foreign expiration": "JMSExpiration is 0: only the broker knows the absolute time, and enforces it",
        "from Java: TextMessage": "the Java client marks texts only with keepTextMessageType; without it they are"
        " BytesMessages, also for Java consumers",
        "from Java: expiration": "the client sends the remaining time: JMSExpiration is off by the time of the send",
        "to Java: TextMessage": "becomes a BytesMessage, except with the option text_marker and without a JMSType",
        "to Java: other kinds": "MapMessage, StreamMessage, ObjectMessage and Message become BytesMessages: at its AMQP"
        " destinations the client sends and receives only texts and bytes",
        "to Java: null texts": "become empty texts",
        "to Java: notes": "what AMQP cannot express is a header x-jb-…, which Java shows as a property: a null text,"
        " the kind of a reply-to destination, a correlation id as bytes, the mark of a dead letter",
        "to Java: property types": "the client reads every property as a String",
        "to others: NaN and infinities": "properties become the texts NaN, Infinity and -Infinity, which the header"
        " x-jb-floats lists: RabbitMQ closes a connection that sends such a number",
        "to others: names beyond 255 bytes": "such properties are called x-jb-long-0 and so on; the header x-jb-long"
        " has their names",
        "to Java: JMSX properties": "the client ignores headers that begin with JMS, except its own",
        "to Java: JMSType": "if there is none, the client shows TextMessage or BytesMessage",
        "to Java: JMSReplyTo": "a plain queue of that name, and only with the client's HandleAnyReplyToStrategy",
        "to Java: null properties": "dropped: a header without value crashes the broker's selectors",
        "to Java: JMSDeliveryTime": "lost: the client does not support it at its AMQP destinations",
    },
    "jms": {
        **_ALWAYS,
        "to Java: correlation id as bytes": "the client stores it as text: bytes that are not valid UTF-8 change",
        "in headers: NaN and infinities": "such properties are in the body, which Java reads, but not in a header:"
        " RabbitMQ closes a connection that sends such a number",
        "in headers: names beyond 255 bytes": "such properties are only in the body",
        "texts beyond 65,535 bytes": "refused in properties, names and fields: the client's format has no room",
        "from Java: Message": "the client sends it as a TextMessage without text",
    },
}
"""By dialect, then by subject."""
