"""Messages of Qpid JMS, of jmsbridge and of other programs, as envelopes; import it from ``wire``."""

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import msgspec

from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_amqp.messages import application, bodies, ids
from jmsbridge_amqp.messages.bodies import Body
from jmsbridge_amqp.messages.conventions import KINDS
from jmsbridge_amqp.messages.naming import Naming
from jmsbridge_amqp.messages.sections import DATA, NOTHING, SEQUENCE, VALUE, Parts, Splitter, walk
from jmsbridge_amqp.protocol.errors import Malformed

__all__ = ["FAULT", "Decoder", "Inbound"]

FAULT: Final = "JMS_jmsbridge_fault"
"""The property with the reason why a message could not be decoded."""

_MOST_ADDRESSES: Final = 1024
_LARGEST_COUNT: Final = 0x7FFFFFFF
_FRONT_SECTIONS: Final = 5  # those before the body
_TEXT: Final = KINDS[BodyKind.TEXT]
_NO_GROUP: Final = [None, None, None]


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A decoded message: ``delivery_count`` includes this delivery.

    ``fault`` says why the message could not be decoded; the envelope is then a bytes message with all of its bytes.
    """

    envelope: Envelope
    delivery_count: int
    fault: str | None


class Decoder:
    """Decodes the messages of one subscription.

    ``address`` is what it consumes, ``structures`` says that a map without annotation is a MapMessage and a list a
    StreamMessage, as ActiveMQ Classic means them, and ``clock`` gives the time in milliseconds.
    """

    def __init__(
        self,
        address: Address,
        naming: Naming | None = None,
        structures: bool = False,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._own = address
        self._naming = naming or Naming()
        self._structures = structures
        self._clock = clock
        self._splitter = Splitter()
        self._addresses: dict[tuple[str, int | None], Address] = {}  # bounded

    def decode(self, data: bytes) -> Inbound:
        """Decode a message; never raises."""
        try:
            parts = self._splitter.split(data)
            envelope, fault = self._envelope(parts), None
        except Malformed as error:
            fault = str(error)
            parts = _rescued(data, fault)
            envelope = self._envelope(parts)
        count = parts[0].delivery_count
        return Inbound(envelope, count + 1 if count < _LARGEST_COUNT else _LARGEST_COUNT, fault)

    def _envelope(self, parts: Parts) -> Envelope:
        header, noted, fields, properties, others, code, body = parts
        message_id, user, to, subject, reply_to, correlation_id, content_type, _, expiration, created, *group = fields
        if message_id is not None and (
            type(message_id) is not str or message_id[:3] != "ID:" or message_id[:8] == "ID:AMQP_"
        ):
            message_id = ids.message_id(message_id)
        if expiration is None:
            expiration = self._clock() + header.ttl if header.ttl else 0
        elif 0 < noted.expiration < expiration:  # the broker made this and the time of sending later by its delay
            created = created and created - (expiration - noted.expiration)
            expiration = noted.expiration
        dead, origin = noted.dead, noted.origin
        if others or user is not None or dead or group != _NO_GROUP:
            if not dead:
                dead, origin = application.origin(others, *application.NOTES_OF_CORE)
            properties = application.shown(properties, others, user, group, origin)
        if code == VALUE and noted.kind == _TEXT and type(body[0]) is str:
            kind, content = BodyKind.TEXT, body[0]
        else:
            kind, content = bodies.decode(_body(code, body), noted.kind, content_type, self._structures)
        return Envelope(
            (self._addresses.get((to, noted.destination)) or self._address(to, noted.destination)) if to else self._own,
            kind,
            content,
            properties,
            message_id,
            created or 0,
            header.persistent,
            header.priority,
            0 if dead else expiration,
            noted.delivery_time,
            None if correlation_id is None else ids.correlation_id(correlation_id),
            self._address(reply_to, noted.reply_to) if reply_to else None,
            subject,
            application.duplicate_id(others) if others else None,
        )

    def _address(self, text: str, kind: int | None) -> Address:
        if len(self._addresses) >= _MOST_ADDRESSES:
            self._addresses.clear()
        found = self._addresses[text, kind] = self._naming.address(text, kind, self._own)
        return found


def _body(code: int, values: Any) -> Body:
    if code == VALUE:
        return Body(value=(values[0],))
    if code == DATA:
        return Body(b"".join(values))
    if code == SEQUENCE:
        return Body(sequence=[item for each in values for item in each])
    return Body()


def _rescued(data: bytes, fault: str) -> Parts:
    """What can be read of a message that cannot be decoded, with all of its bytes as the body."""
    parts = NOTHING
    with suppress(Malformed):
        for _, _, _, end in islice(walk(data), _FRONT_SECTIONS):
            parts = Splitter().split(data[:end])
    header, annotations, fields, properties, others, _, _ = parts
    annotations = annotations._replace(kind=KINDS[BodyKind.BYTES])
    return header, annotations, fields, properties | {FAULT: fault}, others, DATA, [data]
