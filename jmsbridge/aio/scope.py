"""What a session shares with what it creates."""

import asyncio
import logging
from collections import deque
from typing import Any

from jmsbridge import consumer as threaded
from jmsbridge.aio.delivering import Delivering
from jmsbridge.aio.line import Line
from jmsbridge.aio.pool import Tasks
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.session import SessionCore
from jmsbridge.errors import IllegalStateException
from jmsbridge.message import Message

__all__ = ["Scope"]

log = logging.getLogger("jmsbridge.aio")


class Scope:
    """One session's line of calls, its listeners' task, and the rules about its tasks.

    The core refers to it. So it must not refer to the connection, which is closed when it is garbage.
    """

    def __init__(self, core: SessionCore, line: Line, delivering: Delivering, tasks: Tasks) -> None:
        self.core = core
        self.line = line
        self.port = line.port
        self.delivering = delivering
        self._tasks = tasks
        self.receiving: asyncio.Task[Any] | None = None
        """The task that receives."""
        policy = core.incoming.policy
        self.confirms = core.connection.options.block_on_acknowledge
        """Whether acknowledgements wait for the broker."""
        self.confirms_receives = self.confirms and not (policy.deferred or policy.transacted)
        self._kept: list[deque[Message]] = []
        core.acknowledger = self.acknowledge

    def keep(self) -> deque[Message]:
        """For a new consumer: the messages that a cancelled receive had acknowledged, which the next ones get."""
        kept: deque[Message] = deque()
        if self.confirms_receives:
            self._kept.append(kept)
        return kept

    def report_kept(self, *kept: deque[Message]) -> None:
        """These consumers, by default all, are closed: nobody gets what a cancelled receive had acknowledged."""
        for each in kept or self._kept:
            while each:
                log.error(
                    "message %s was acknowledged, and no task has got it: its receive was cancelled, and the consumer "
                    "was closed before the next one",
                    each.popleft().jms_message_id,
                )
        self._kept = [each for each in self._kept if kept and each is not kept[0]]

    def check(self) -> None:
        """IllegalState after the close and in another loop; raises the error of a call whose task was cancelled."""
        self.line.check()
        self.core.check_open()

    def check_receive(self, consumer: threaded.MessageConsumer) -> None:
        """IllegalState if the running task may not receive now."""
        self.line.check()
        if consumer._closed:
            consumer._check()
        self.core.begin()
        if self.receiving is not None and not self.receiving.done():  # an interrupt may have ended that task
            raise IllegalStateException("another task is receiving on this session; give it a session of its own")

    def begin_receive(self, consumer: threaded.MessageConsumer) -> None:
        """The running task receives from now on."""
        self.check_receive(consumer)
        self.receiving = asyncio.current_task(self.port.loop)

    def check_listen(self) -> None:
        """IllegalState while another task receives."""
        self.check()
        if self.receiving is not None and self.receiving is not asyncio.current_task():
            raise IllegalStateException("a task is receiving on this session; set the listener on another one")

    def take_credit_back(self, receiver: Receiver) -> None:
        """A receive without a window was cancelled: the message that it asked for may go to other consumers."""
        self._tasks.start(self.port, self.line.whole(receiver.wait_looked))

    def acknowledge(self, delivery: Delivery | None) -> "asyncio.Future[None]":
        """What ``message.acknowledge`` calls: it takes effect also if nobody awaits the result."""
        self.line.check()
        if self.line.is_still and not self.confirms:
            done: asyncio.Future[None] = self.port.loop.create_future()
            self.core.acknowledge(delivery)
            done.set_result(None)
            return done
        return self._tasks.start(self.port, self.line.whole(lambda: self.core.acknowledge(delivery), owes=True))
