"""Consumers as a queue sees them, the views that their selectors define, and the owners of groups."""

from collections import deque
from typing import TYPE_CHECKING

from jmsbridge.spi import Envelope, Inbox, Interest
from jmsbridge_embedded.groups import bucket_of
from jmsbridge_embedded.memory.queues.backlog import Backlog, Entry
from jmsbridge_embedded.memory.queues.walk import Walk

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Groups", "Taker", "View"]


class Taker:
    """A consumer as its queue sees it.

    ``held`` are its unsettled messages; ``own`` are messages of groups that wait for this consumer only; ``turn`` says
    when it was last served, for fairness between views; ``expired`` names the queue for messages that expire here.
    """

    def __init__(self, view: "View", interest: Interest, inbox: Inbox) -> None:
        self.credit = 0
        self.held: set[Entry] = set()
        self.view = view
        self.own: Backlog | None = None
        self.turn = 0
        self.put = inbox.put
        self.put_again = inbox.put_again
        self.presettled = interest.presettled
        self.expired = interest.expired or None


class View(Backlog):
    """The waiting messages that a selector matches, or all, and the consumers with that selector.

    ``ring`` holds the consumers with credit, the next one first; ``walk`` goes through the messages that waited when
    the view was made, and is None when it has seen all.
    """

    __slots__ = ("ring", "selector", "users", "walk")

    def __init__(self, selector: "Selector | None" = None, walk: Walk | None = None) -> None:
        super().__init__()
        self.selector = selector
        self.ring: deque[Taker] = deque()
        self.users = 0
        self.walk = walk

    def wants(self, entry: Entry) -> bool:
        """Whether to put the message into this view now: it matches, and the walk will not come to it."""
        if self.walk is not None and not self.walk.has_passed(entry):
            return False
        return self.matches(entry.envelope)

    def matches(self, envelope: Envelope) -> bool:
        """Whether the selector matches."""
        return self.selector is None or self.selector.matches_envelope(envelope)


class Groups:
    """The consumer that got the first message of a group gets the others until it closes."""

    __slots__ = ("_owners",)

    def __init__(self) -> None:
        self._owners: dict[int, Taker] = {}

    def owner(self, envelope: Envelope, asking: Taker) -> Taker:
        """The consumer for this message: the owner of its group, else ``asking``, which becomes the owner.

        A message that the owner's selector does not match goes to ``asking``.
        """
        bucket = bucket_of(envelope)
        if bucket is None:
            return asking
        owner = self._owners.setdefault(bucket, asking)
        return owner if owner.view.matches(envelope) else asking

    def free(self, consumer: Taker) -> None:
        """Forget the groups that this consumer owns."""
        if self._owners:
            self._owners = {bucket: owner for bucket, owner in self._owners.items() if owner is not consumer}
