"""Browsing a queue in a task (Jakarta Messaging 3.1 section 4.1.6)."""

import itertools
from collections.abc import AsyncIterator, Iterator

from jmsbridge import browser as threaded
from jmsbridge.aio.opening import AsyncClosing
from jmsbridge.aio.scope import Scope
from jmsbridge.destinations import Queue
from jmsbridge.message import Message
from jmsbridge.strict import Strict

__all__ = ["QueueBrowser"]

_PAGE = 100  # messages fetched at a time


class QueueBrowser(AsyncClosing, Strict):
    """Shows a queue's messages in the order in which they would be received; each ``async for`` starts again."""

    __slots__ = ("__weakref__", "_scope", "_sync")

    def __init__(self, scope: Scope, sync: threaded.QueueBrowser) -> None:
        self._scope = scope
        self._sync = sync

    @property
    def queue(self) -> Queue:
        """The queue."""
        return self._sync.queue

    @property
    def message_selector(self) -> str | None:
        """The selector, or None."""
        return self._sync.message_selector

    @property
    def is_truncated(self) -> bool:
        """Whether the last iteration left messages out: an emulated browser shows at most ``emulation_limit``."""
        return self._sync.is_truncated

    @property
    def enumeration(self) -> AsyncIterator[Message]:
        """A new iterator over the queue's messages; it ends at the end of the queue."""
        self._scope.check()
        return self._browse(self._sync.enumeration)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.enumeration

    async def _browse(self, shown: Iterator[Message]) -> AsyncIterator[Message]:
        line = self._scope.line
        more = True
        while more:
            line.check()
            page = await line.whole(lambda: list(itertools.islice(shown, _PAGE)))
            more = len(page) == _PAGE
            for message in page:
                yield message

    async def close(self) -> None:
        """End browsing, unfinished iterations included; idempotent."""
        self._scope.port.check()
        if not (self._sync._closed or self._scope.line.is_closed):
            await self._scope.line.whole(self._sync.close, to_the_end=True)
