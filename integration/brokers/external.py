"""A server that somebody else runs, named by a URL in the environment."""

from integration.brokers.errors import BrokerError
from integration.brokers.table import Kind

__all__ = ["External"]


class External:
    """What tests get for `JMSBRIDGE_<NAME>_URL`: only its URL. It is never emptied, killed or administered."""

    def __init__(self, kind: Kind, address: str) -> None:
        self.kind = kind
        self._address = address

    def __repr__(self) -> str:
        return f"External({self.kind.name!r})"

    def url(self, scheme: str | None = None) -> str:
        """The URL as it was given; BrokerError for another scheme."""
        given = self._address.partition(":")[0]
        if scheme not in (None, given):
            raise BrokerError(f"{self.kind.variable} names a server by {given}, not by {scheme}")
        return self._address
