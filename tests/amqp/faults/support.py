"""A link of the backend to the peer, and what tests do with it."""

import threading
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Address, Backend, BackendError, Endpoint, Envelope, Link
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer
from jmsbridge.testing.suite.contract.support import envelope as text_of
from tests.amqp.peer.records import PATIENCE, Records
from tests.amqp.peer.script import Script
from tests.amqp.peer.server import Peer

__all__ = ["ARTEMIS", "CLASSIC", "QUEUE", "Events", "Opened", "sent_async"]

ARTEMIS = {"product": "apache-activemq-artemis", "version": "0 (a peer)"}
CLASSIC = {"product": "ActiveMQ", "version": "0 (a peer)", "queue-prefix": "queue://", "topic-prefix": "topic://"}
QUEUE = Address("q")


class Events(LinkLog):
    """What a link reports, with a wait."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def lost(self, error: BackendError) -> None:
        self._note(lambda: super(Events, self).lost(error))

    def channel_lost(self, channel: Any, error: BackendError) -> None:
        self._note(lambda: super(Events, self).channel_lost(channel, error))

    def subscription_lost(self, subscription: Any, error: BackendError) -> None:
        self._note(lambda: super(Events, self).subscription_lost(subscription, error))

    def _note(self, change: Callable[[], None]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()

    def wait(self, condition: Callable[["Events"], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self), PATIENCE), "the event did not come"


class Opened:
    """A peer, and a link to it."""

    def __init__(self, peer: Peer, backend: Backend, **options: Any) -> None:
        self.peer = peer
        self.events = Events()
        fields = {name: options.pop(name) for name in list(options) if name in Endpoint.__struct_fields__}
        known: dict[str, Any] = {"scheme": "amqp", "host": "127.0.0.1", "port": peer.port, "close_timeout": 2.0}
        endpoint = Endpoint(**known | fields)
        self.link: Link = backend.open(endpoint, backend.options(**options), self.events)

    @property
    def script(self) -> Script:
        return self.peer.script

    @property
    def records(self) -> Records:
        return self.peer.records


def sent_async(channel: Any, *envelopes: Envelope | str) -> list[Answer]:
    """Send these to the queue, and do not wait."""
    answers = []
    for each in envelopes:
        answers.append(Answer())
        channel.send(text_of(QUEUE, each) if isinstance(each, str) else each, answers[-1])
    return answers
