"""An external server, named by a URL in the environment."""

from typing import TYPE_CHECKING, NoReturn

from integration.lab.broker import Broker
from integration.lab.errors import BrokerError
from integration.lab.table import Kind

__all__ = ["External"]


class External:
    """The server of `JMSBRIDGE_<NAME>_URL`: tests get only its URL. It is never emptied, killed or administered."""

    def __init__(self, kind: Kind, address: str) -> None:
        """BrokerError for a URL of another kind."""
        if address.partition("://")[0] not in kind.schemes:
            begins = ", ".join(f"{scheme}://" for scheme in kind.schemes)
            raise BrokerError(f"{kind.variable} must begin with one of {begins}")
        self.kind = kind
        self._address = address

    def __repr__(self) -> str:
        return f"External({self.kind.name!r})"

    def url(self, scheme: str | None = None) -> str:
        """The given URL; BrokerError for another scheme."""
        given = self._address.partition(":")[0]
        if scheme not in (None, given):
            raise BrokerError(f"{self.kind.variable} names a server with {given}, not with {scheme}")
        return self._address

    if not TYPE_CHECKING:  # so that mypy still checks attributes that only some of the servers have

        def __getattr__(self, name: str) -> NoReturn:
            if not hasattr(Broker, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise BrokerError(
                f"the server that {self.kind.variable} names is external: no `{name}` here; without that "
                "variable the tests start their own broker"
            )
