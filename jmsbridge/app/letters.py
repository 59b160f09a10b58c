"""Dead letters of listeners: copies with the reason, in the form that every backend writes."""

import time

from jmsbridge.app.listeners import Listener
from jmsbridge.destinations import Queue, Topic
from jmsbridge.message import Message
from jmsbridge.producer import MessageProducer
from jmsbridge.spi import DEAD_LETTER_NOTES, dead_letter_notes

__all__ = ["move_to"]

_LONGEST_REASON = 2000
_COUNT = "JMSXDeliveryCount"


def move_to(queue: Queue, message: Message, reason: str, listener: Listener, producer: MessageProducer) -> None:
    """Send a received message to another queue, with the notes of a dead letter; it does not expire there.

    It gets a new JMSMessageID, as every message that is sent.
    """
    deliveries = message.get_int_property(_COUNT) if message.property_exists(_COUNT) else 1
    origin = listener.pattern
    if isinstance(listener.destination, Topic) and listener.subscription is not None:
        origin = f"{origin}/{listener.subscription}"
    kept = {name: value for name, value in message._properties.items() if name not in DEAD_LETTER_NOTES}
    kept.pop(_COUNT, None)
    message.clear_properties()
    message._properties.update(kept)  # as they are: a setter refuses names that other providers allow
    notes = dead_letter_notes(reason[:_LONGEST_REASON], origin, deliveries, time.time_ns() // 1_000_000)
    for name, value in notes.items():
        message.set_object_property(name, value)
    producer.send(
        queue, message, delivery_mode=message.jms_delivery_mode, priority=message.jms_priority, time_to_live=0
    )
