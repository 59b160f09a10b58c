"""A producer in a separate process: it sends every message until it is confirmed.

Run by ``integration.faults.run`` as ``python -m integration.faults.producing SETTINGS``, the settings as JSON.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import jmsbridge
from integration.faults.ledger import Ledger, Step
from integration.faults.process import Settings, destination, play
from jmsbridge import InDoubt, JMSException, Message, MessageProducer, Session, Template, TextMessage, aio

__all__ = ["main"]

_BATCH = 100
_WINDOW = 200
_BODY = "x" * 256


class _Work:
    """Messages by number, each until it is confirmed; failed ones are sent again first."""

    def __init__(self, settings: Settings) -> None:
        self.ledger = Ledger(Path(settings.ledger))
        self._settings = settings
        self._again: deque[int] = deque()
        self._next = 0
        self._calls = 0
        self._open = settings.count
        self._changed = threading.Condition()  # guards the fields above

    def take(self) -> int | None:
        """The next message to send; waits while all are in flight; None when all are confirmed."""
        with self._changed:
            self._changed.wait_for(lambda: self._again or self._next < self._settings.count or not self._open)
            return self.take_now()

    def take_now(self) -> int | None:
        """The next message to send; None when all are in flight or confirmed."""
        with self._changed:
            if self._again:
                return self._again.popleft()
            if self._next < self._settings.count:
                self._next += 1
                return self._next - 1
            return None

    def message(self, number: int) -> Message:
        """Create the message for one call of ``send``, and log the call."""
        message = TextMessage(_BODY)
        message.set_int_property("number", number)
        message.set_int_property("call", self._calls)
        message.set_string_property("producer", self._settings.name)
        self.ledger.write(Step.SENT, f"{self._settings.name}:{number}", self._calls)
        self._calls += 1
        return message

    def outcome(self, step: Step, messages: Iterable[Message], error: BaseException | None = None) -> None:
        """Log the outcome of these messages."""
        for message in messages:
            number, call = message.get_int_property("number"), message.get_int_property("call")
            self.ledger.write(step, f"{self._settings.name}:{number}", call, "" if error is None else repr(error))
            with self._changed:
                if step is Step.CONFIRMED:
                    self._open -= 1
                else:
                    self._again.append(number)
                self._changed.notify_all()

    def failed(self, messages: Iterable[Message], error: BaseException) -> None:
        """Log that the sends of these messages failed with this error."""
        self.outcome(Step.UNKNOWN if isinstance(error, InDoubt) else Step.REFUSED, messages, error)

    # a completion listener

    def on_completion(self, message: Message) -> None:
        """The broker has it."""
        self.outcome(Step.CONFIRMED, [message])

    def on_exception(self, message: Message, error: Exception) -> None:
        """The broker does not have it, or it is in doubt."""
        self.failed([message], error)


def _asynchronously(session: Session, producer: MessageProducer, work: _Work) -> None:
    while (number := work.take()) is not None:
        producer.send(work.message(number), completion_listener=work)


def _one_by_one(work: _Work, send: Callable[[Message], None]) -> None:
    while (number := work.take()) is not None:
        message = work.message(number)
        try:
            send(message)
        except JMSException as error:
            work.failed([message], error)
        else:
            work.outcome(Step.CONFIRMED, [message])


def _synchronously(session: Session, producer: MessageProducer, work: _Work) -> None:
    _one_by_one(work, producer.send)


def _in_transactions(session: Session, producer: MessageProducer, work: _Work) -> None:
    while (number := work.take()) is not None:
        sent: list[Message] = []
        try:
            while number is not None:
                sent.append(work.message(number))
                producer.send(sent[-1])
                number = work.take_now() if len(sent) < _BATCH else None
            session.commit()
        except InDoubt as error:
            _sort_out(work, sent, error)
        except JMSException as error:
            with contextlib.suppress(
                JMSException
            ):  # it is rolled back already, or there is no link, which has the same effect
                session.rollback()
            work.outcome(Step.REFUSED, sent, error)
        else:
            work.outcome(Step.CONFIRMED, sent)


def _sort_out(work: _Work, sent: list[Message], error: InDoubt) -> None:
    """Log for each message of a failed commit whether it was refused or is in doubt."""

    def calls(messages: Iterable[Message]) -> set[int]:
        return {message.get_int_property("call") for message in messages}

    there, refused = calls(error.sent), calls(error.refused)
    for message in sent:
        call = message.get_int_property("call")
        step = Step.CONFIRMED if call in there else Step.REFUSED if call in refused else Step.UNKNOWN
        work.outcome(step, [message], error)


def _by_template(settings: Settings, work: _Work) -> None:
    with Template(settings.url, reconnect_delay_max=0.5) as template:
        work.ledger.write(Step.HOLDS, number=1)
        _one_by_one(work, partial(template.send, destination(settings)))


def _by_tasks(settings: Settings, work: _Work) -> None:
    async def send(producer: aio.MessageProducer, message: Message) -> None:
        try:
            await producer.send(message)
        except JMSException as error:
            work.failed([message], error)
        else:
            work.outcome(Step.CONFIRMED, [message])

    async def send_all() -> None:
        options: dict[str, Any] = {"reconnect_delay_max": 0.5, "send_window": _WINDOW}
        async with aio.connect(settings.url, **options) as connection, connection.create_session() as session:
            producer = await session.create_producer(destination(settings))
            work.ledger.write(Step.HOLDS, number=_WINDOW)
            while (number := work.take()) is not None:  # nothing is in flight, so it does not wait
                batch = [work.message(number)]
                while len(batch) < _BATCH and (number := work.take_now()) is not None:
                    batch.append(work.message(number))
                await asyncio.gather(*(send(producer, message) for message in batch))

    asyncio.run(send_all())


def _in_session(
    send_all: Callable[[Session, MessageProducer, _Work], None], *, transacted: bool = False
) -> Callable[[Settings, _Work], None]:
    """A role that has one session."""

    def play_it(settings: Settings, work: _Work) -> None:
        with jmsbridge.connect(settings.url, reconnect_delay_max=0.5, send_window=_WINDOW) as connection:
            connection.start()
            session = connection.create_session(transacted=transacted)
            producer = session.create_producer(destination(settings))
            work.ledger.write(Step.HOLDS, number=_WINDOW)
            send_all(session, producer, work)

    return play_it


_ROLES: dict[str, Callable[[Settings, _Work], None]] = {
    "async": _in_session(_asynchronously),
    "sync": _in_session(_synchronously),
    "transacted": _in_session(_in_transactions, transacted=True),
    "template": _by_template,
    "aio": _by_tasks,
}


def main(settings: Settings) -> None:
    """Send everything; return when all of it is confirmed."""
    _ROLES[settings.role](settings, _Work(settings))


if __name__ == "__main__":
    play(main)
