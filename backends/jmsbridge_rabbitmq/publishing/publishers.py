"""The open publishers of one link."""

from jmsbridge_rabbitmq.broker.conversations import Control
from jmsbridge_rabbitmq.broker.known import KnownDestinations
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.messages.wire import Encoder
from jmsbridge_rabbitmq.publishing.publisher import Publisher

__all__ = ["Publishers"]


class Publishers:
    """Creates the publishers of a link.

    ``copier`` is one more, for copies of received messages.
    """

    def __init__(
        self, pair: ConnectionPair, control: Control, known: KnownDestinations, encoder: Encoder, *, quorum: bool
    ) -> None:
        self.open: set[Publisher] = set()
        self._made_of = pair, control, known, encoder, quorum
        self.copier = self.make()
        pair.life.when_lost.append(self._end)
        pair.when_blocked.append(self._blocked)

    def make(self) -> Publisher:
        """Create a publisher; any thread."""
        made = Publisher(*self._made_of)
        self.open.add(made)
        return made

    def _end(self) -> None:
        for each in list(self.open):
            each.end()

    def _blocked(self, active: bool) -> None:
        for each in list(self.open):
            if active:
                each.on_blocked()
            else:
                each.resume()
