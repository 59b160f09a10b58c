"""The temporary destinations of one connection: created, created again on a new link, deleted (rules TD-1 to TD-3).

If the broker has none, ordinary destinations with unique names are used: the client refuses consumers of other
connections, and deletes the destinations at close as far as the broker can.
"""

import logging
import uuid
from collections import deque
from collections.abc import Callable

from jmsbridge.core.plan import Plan
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.errors import IllegalStateException, InvalidDestinationException
from jmsbridge.spi import Address, AddressInUse, BackendError, Link, LinkLost, Native, NotSupported

__all__ = ["Temporaries"]

log = logging.getLogger("jmsbridge.temporary")

_REMEMBERED = 1000
"""How many destinations that were deleted are known as such."""


class Temporaries:
    """Thread-safe. ``in_use`` says whether the connection has a consumer of an address."""

    def __init__(self, in_use: Callable[[Address], bool]) -> None:
        self._in_use = in_use
        self._lock = ranked(Rank.CONNECTION)  # guards _made
        self._made: dict[Address, None] = {}
        self._deleted: deque[Address] = deque(maxlen=_REMEMBERED)

    def create(self, link: Link, plan: Plan, *, topic: bool) -> Address:
        """Create one; raises BackendError."""
        wanted = Address(f"jmsbridge-temp-{'topic' if topic else 'queue'}-{uuid.uuid4().hex}", topic, True)
        made = wanted
        if plan.require(Native.TEMPORARY) == "native":
            made = link.declare(wanted)
        else:
            try:
                made = link.declare(wanted)
            except NotSupported:
                log.debug("%s is an ordinary destination with a unique name: the broker has no temporary ones", wanted)
        with self._lock:
            self._made[made] = None
        return made

    def check_exists(self, address: Address) -> None:
        """Refuse a temporary destination that this connection has deleted: to the broker it may be an ordinary one."""
        if address in self._deleted:
            raise InvalidDestinationException(f"{address} was deleted")

    def check_consumable(self, address: Address, plan: Plan) -> None:
        """Refuse a consumer of another connection's temporary destination, if the broker does not do so."""
        self.check_exists(address)
        if address.temporary and plan.outcome(Native.TEMPORARY) != "native" and address not in self._made:
            raise IllegalStateException(f"{address} belongs to another connection; only that one may consume it")

    def delete(self, link: Link, plan: Plan, address: Address) -> None:
        """Delete one, if it exists. BackendError, or IllegalStateException while it has consumers."""
        if address not in self._made:
            return
        if plan.outcome(Native.TEMPORARY) == "native":
            link.delete(address)
        else:
            if self._in_use(address):
                raise IllegalStateException(f"{address} has consumers; close them before deleting it")
            _delete_emulated(link, address)
        with self._lock:
            self._made.pop(address, None)
        self._deleted.append(address)

    def make_again(self, link: Link, plan: Plan) -> None:
        """Create all again on a new link; BackendError if that is not possible yet."""
        if plan.outcome(Native.TEMPORARY) != "native":
            return
        for address in tuple(self._made):
            made = link.declare(address)
            if made != address:  # the broker has not noticed the loss of the old link yet: try again soon
                link.delete(made)
                raise AddressInUse(f"{address} still belongs to the lost link")

    def delete_all(self, link: Link | None, is_late: Callable[[], bool]) -> None:
        """Delete all at the end of the connection, until it is too late; failures are logged."""
        for number, address in enumerate(tuple(self._made)):
            if link is None:
                return
            if is_late():
                log.warning("%d temporary destinations were not deleted within close_timeout", len(self._made) - number)
                return
            try:
                _delete_emulated(link, address)
            except LinkLost:
                return
            except BackendError as error:
                log.warning("%s could not be deleted: %s", address, error)


def _delete_emulated(link: Link, address: Address) -> None:
    try:
        link.delete(address)
    except NotSupported:
        log.info("%s stays on the broker: its clients cannot delete it", address)
