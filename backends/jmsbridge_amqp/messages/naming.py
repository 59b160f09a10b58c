"""Destinations as address strings, and what Qpid JMS writes beside them: the kind of a destination as a byte."""

from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from jmsbridge.spi import Address

__all__ = ["Naming", "kind_byte"]

_DESTINATION: Final = {0: (False, False), 1: (True, False), 2: (False, True), 3: (True, True)}
"""By the byte of ``x-opt-jms-dest``: whether it is a topic, and whether it is temporary."""

_NODES_OF_CLASSIC: Final = ("temp-queue://", "temp-topic://")  # complete addresses, made by the broker


def kind_byte(address: Address) -> int:
    """The byte of ``x-opt-jms-dest`` and ``x-opt-jms-reply-to``."""
    return 2 * address.temporary + address.topic


class Naming(msgspec.Struct, frozen=True):
    """The prefixes of addresses at one broker: ``queue://`` and ``topic://`` at ActiveMQ Classic, elsewhere none.

    Our temporary destinations are ordinary ones, so they have the prefix, too.
    """

    queue_prefix: str = ""
    topic_prefix: str = ""
    escapes: bool = False
    """Whether names are escaped as in URLs."""

    def text(self, address: Address) -> str:
        """The address string of a destination."""
        if address.temporary and address.name.startswith(_NODES_OF_CLASSIC):
            return address.name
        name = quote(address.name, safe="") if self.escapes else address.name
        return (self.topic_prefix if address.topic else self.queue_prefix) + name

    def address(self, text: str, kind: Any, own: Address) -> Address:
        """The destination of an address string; ``kind`` is its byte if it is known.

        ``own`` is where the message was received; the same address is the same destination, whatever the byte says.
        Without a byte, the prefix tells the kind, else it is that of ``own``.
        """
        if text == self.text(own):
            return own
        topic, temporary = _DESTINATION.get(kind, (own.topic, False))
        name = text
        if self.queue_prefix and text.startswith(_NODES_OF_CLASSIC):
            topic, temporary = text.startswith(_NODES_OF_CLASSIC[1]), True
        elif self.queue_prefix and text.startswith(self.queue_prefix):
            topic, name = False, text[len(self.queue_prefix) :]
        elif self.topic_prefix and text.startswith(self.topic_prefix):
            topic, name = True, text[len(self.topic_prefix) :]
        return Address(unquote(name) if self.escapes else name, topic, temporary)
