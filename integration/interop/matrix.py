"""The messages that both languages write and read: one table for every client and every broker."""

import math
from dataclasses import dataclass, field
from typing import Any

from integration.interop.describing import Description, typed
from jmsbridge import Byte, Char, DeliveryMode, Destination, Float, Long, Message, Session, Short
from jmsbridge.codecs import javaserial
from jmsbridge.values import Double

__all__ = ["MATRIX", "Sample", "send"]


@dataclass(frozen=True)
class Sample:
    """One message, and how it is sent."""

    name: str
    kind: str = "TextMessage"
    body: Any = "a text"
    properties: dict[str, Any] = field(default_factory=dict)
    correlation: str | bytes | None = None
    type: str | None = None
    reply_to: tuple[str, str] | None = None
    """Queue or topic, and its name; it is a temporary one without a name."""
    delivery_mode: DeliveryMode = DeliveryMode.PERSISTENT
    priority: int = 4
    time_to_live: float = 0.0
    """Seconds."""
    delivery_delay: float = 0.0

    @property
    def asked(self) -> Description:
        """What every reader should find of it, with the keys of a description."""
        asked = {
            "kind": self.kind,
            "body": self._typed_body,
            "properties": {name: typed(value) for name, value in sorted(self.properties.items())},
            "type": self.type,
            "priority": self.priority,
            "delivery_mode": self.delivery_mode,
        }
        return asked if isinstance(self.correlation, bytes) else asked | {"correlation_id": self.correlation}

    @property
    def _typed_body(self) -> Any:
        if isinstance(self.body, dict):
            return {name: typed(value) for name, value in self.body.items()}
        if isinstance(self.body, tuple):
            return [typed(value) for value in self.body]
        return typed(javaserial.dumps(self.body)) if isinstance(self.body, list) else typed(self.body)

    def told(self, queue: str) -> Description:
        """The same for the Java program, which sends it to that queue."""
        return self.asked | {
            "queue": queue,
            "correlation_bytes": typed(self.correlation) if isinstance(self.correlation, bytes) else None,
            "reply_to": None if self.reply_to is None else [self.reply_to[0], not self.reply_to[1], self.reply_to[1]],
            "time_to_live": round(self.time_to_live * 1000),
            "delivery_delay": round(self.delivery_delay * 1000),
        }

    def made(self, session: Session) -> Message:
        """The message."""
        message = self._with_body(session)
        for name, value in self.properties.items():
            message.set_object_property(name, value)
        if isinstance(self.correlation, bytes):
            message.jms_correlation_id_as_bytes = self.correlation
        else:
            message.jms_correlation_id = self.correlation
        message.jms_type = self.type
        message.jms_reply_to = self._answers(session)
        return message

    def _with_body(self, session: Session) -> Message:
        match self.kind:
            case "TextMessage":
                return session.create_text_message(self.body)
            case "ObjectMessage":
                return session.create_object_message(self.body)
            case "BytesMessage":
                binary = session.create_bytes_message()
                binary.write_bytes(self.body)
                return binary
            case "MapMessage":
                mapping = session.create_map_message()
                for name, value in self.body.items():
                    mapping.set_object(name, value)
                return mapping
            case "StreamMessage":
                stream = session.create_stream_message()
                for value in self.body:
                    stream.write_object(value)
                return stream
        return session.create_message()

    def _answers(self, session: Session) -> Destination | None:
        match self.reply_to:
            case None:
                return None
            case "queue", "":
                return session.create_temporary_queue()
            case "topic", "":
                return session.create_temporary_topic()
            case "queue", name:
                return session.create_queue(name)
            case _, name:
                return session.create_topic(name)


def send(session: Session, queue: str, sample: Sample) -> Message:
    """Send it from Python; what is returned has the headers of the send."""
    message = sample.made(session)
    with session.create_producer(session.create_queue(queue)) as producer:
        producer.delivery_delay = sample.delivery_delay
        producer.send(
            message,
            delivery_mode=sample.delivery_mode,
            priority=sample.priority,
            time_to_live=sample.time_to_live,
        )
    return message


_VALUES: dict[str, Any] = {
    "bool": True,
    "byte": Byte(-5),
    "char": Char("€"),
    "double": -6.02e23,
    "float": Float(0.1),
    "int": 70000,
    "long": Long(1 << 40),
    "null": None,
    "short": Short(300),
    "string": "naïve",
}
_BYTES = b"\x01\x02\xfd"
_BEYOND = "naïve 😀"
"""With a character outside the Basic Multilingual Plane."""

MATRIX = (
    Sample("text", body="héllo € \0 end"),
    Sample("text beyond the BMP", body=_BEYOND),
    Sample("long text", body="x" * 1500),
    Sample("empty text", body=""),
    Sample("null text", body=None),
    Sample("bytes", "BytesMessage", b"\0\1\xac\xed\x77\xff"),
    Sample("empty bytes", "BytesMessage", b""),
    Sample("map", "MapMessage", _VALUES),
    Sample("map with bytes", "MapMessage", {"bytes": _BYTES}),
    Sample("map beyond the BMP", "MapMessage", {"string": _BEYOND}),
    Sample("stream", "StreamMessage", tuple(_VALUES.values())),
    Sample("stream with bytes", "StreamMessage", (_BYTES, "after")),
    Sample("stream beyond the BMP", "StreamMessage", (_BEYOND,)),
    Sample("object", "ObjectMessage", [1, "a", [2.5]]),
    Sample("null object", "ObjectMessage", None),
    Sample("no body", "Message", None),
    Sample(
        "properties",
        properties={
            **{f"p_{name}": value for name, value in _VALUES.items() if name not in ("char", "null")},
            "p_least": Long(-(1 << 63)),
            "p_empty": "",
        },
    ),
    Sample("null property", properties={"p_null": None}),
    Sample("property beyond the BMP", properties={"p_string": _BEYOND}),
    Sample(
        "numbers that are not finite",
        properties={"p_nan": Double(math.nan), "p_infinity": Float(math.inf), "p_least": Double(-math.inf)},
    ),
    Sample("correlation and type", correlation="request-é-1", type="order"),
    Sample("correlation like an id", correlation="ID:another-1"),
    Sample("correlation as bytes", correlation=b"c-1\xff"),
    Sample("group", properties={"JMSXGroupID": "group-1", "JMSXGroupSeq": 3}),
    Sample("reply to a queue", reply_to=("queue", "answers")),
    Sample("reply to a topic", reply_to=("topic", "answers")),
    Sample("reply to a temporary queue", reply_to=("queue", "")),
    Sample("reply to a temporary topic", reply_to=("topic", "")),
    Sample("priority, not persistent", priority=7, delivery_mode=DeliveryMode.NON_PERSISTENT),
    Sample("expiry", time_to_live=600.0),
    Sample("delay", delivery_delay=1.0),
)
"""Each has one thing to carry, so that what a broker changes is one row."""
