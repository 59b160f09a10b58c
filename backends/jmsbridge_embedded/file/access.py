"""The store as the objects of one link use it."""

import time
from collections.abc import Callable
from typing import TypeVar

from jmsbridge_embedded.client import Client
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.operations import End
from jmsbridge_embedded.file.store import Store

__all__ = ["Access"]

_T = TypeVar("_T")


class Access:
    """A store, with the client and the timeouts of one link."""

    def __init__(self, store: Store, client: Client, connect_timeout: float, close_timeout: float) -> None:
        self.store = store
        self.client = client
        self._connect_timeout = connect_timeout
        self._close_timeout = close_timeout
        self._ending: End | None = None
        self._waited = 0.0

    def call(self, act: Callable[[Batch], _T], *, sync: bool = False) -> _T:
        """Run ``act`` in a transaction and wait for it, for at most ``connect_timeout``."""
        self.client.check()
        return self.store.call(act, sync=sync, timeout=self._connect_timeout)

    def end_soon(self, act: Callable[[Batch], None]) -> End:
        """End something of this link. All such waits share ``close_timeout`` seconds while the file does not answer."""
        before = self._ending
        if before is None or before.is_done:
            self._waited = 0.0
        began = time.monotonic()
        ending = self._ending = self.store.end(act, max(0.0, self._close_timeout - self._waited))
        self._waited += time.monotonic() - began
        return ending
