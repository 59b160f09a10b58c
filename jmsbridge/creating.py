"""Factory methods for messages and destinations, shared by Session and JMSContext."""

from jmsbridge.destinations import Queue, Topic
from jmsbridge.message import BytesMessage, MapMessage, Message, ObjectMessage, StreamMessage, TextMessage

__all__ = ["Creating"]


class Creating:
    """Factory methods of section 3.11; messages may be used with any session."""

    __slots__ = ()

    def _check_open(self) -> None:
        raise NotImplementedError

    def create_message(self) -> Message:
        """A message without body."""
        self._check_open()
        return Message()

    def create_text_message(self, text: str | None = None) -> TextMessage:
        """A message with a string."""
        self._check_open()
        return TextMessage(text)

    def create_bytes_message(self) -> BytesMessage:
        """A message with bytes, in write mode."""
        self._check_open()
        return BytesMessage()

    def create_map_message(self) -> MapMessage:
        """A message with named, typed values."""
        self._check_open()
        return MapMessage()

    def create_stream_message(self) -> StreamMessage:
        """A message with a sequence of typed values, in write mode."""
        self._check_open()
        return StreamMessage()

    def create_object_message(self, obj: object = None) -> ObjectMessage:
        """A message with an object that a Java reader can read: see ``ObjectMessage``."""
        self._check_open()
        return ObjectMessage(obj)

    def create_queue(self, name: str, *, literal: bool = False) -> Queue:
        """A queue by its name; does not contact the broker (rule QU-1).

        InvalidDestination for a name that has a special meaning in some client, such as ``a,b``; with ``literal`` the
        name is taken as it is.
        """
        self._check_open()
        return Queue(name, literal=literal)

    def create_topic(self, name: str, *, literal: bool = False) -> Topic:
        """A topic by its name, as ``create_queue``; does not contact the broker (rule QU-1)."""
        self._check_open()
        return Topic(name, literal=literal)
