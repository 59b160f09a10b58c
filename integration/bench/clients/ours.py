"""jmsbridge: the whole facade, as an application uses it."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import jmsbridge
from integration.bench.clients.protocol import BODY, WINDOW, Arguments, arguments, check, serve
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    BytesMessage,
    Message,
    MessageProducer,
    Queue,
    Session,
    TextMessage,
)

__all__ = ["main"]

_BATCH = 100
_PATIENCE = 60.0
_LARGE = bytes(range(256)) * 16


def _message(session: Session) -> TextMessage:
    made = session.create_text_message(BODY)
    made.set_string_property("customer", "c-4711")
    made.set_int_property("number", 42)
    made.set_long_property("sequence", 1 << 40)
    made.set_double_property("price", 9.75)
    made.set_boolean_property("rush", True)
    return made


class _Completions:
    """A completion listener that waits for the last one."""

    def __init__(self) -> None:
        self.left = 0
        self.done = threading.Event()
        self.errors: list[Exception] = []

    def on_completion(self, message: Message) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()

    def on_exception(self, message: Message, error: Exception) -> None:
        self.errors.append(error)
        self.on_completion(message)


def _large(session: Session) -> BytesMessage:
    made = session.create_bytes_message()
    made.write_bytes(_LARGE)
    return made


def _send_async(
    session: Session, producer: MessageProducer, count: int, make: Callable[[Session], Message] = _message
) -> None:
    listener = _Completions()
    listener.left = count
    for _ in range(count):
        producer.send(make(session), completion_listener=listener)
    listener.done.wait()
    if listener.errors:
        raise listener.errors[0]


def _send_sync(session: Session, producer: MessageProducer, count: int) -> None:
    for _ in range(count):
        producer.send(_message(session))


def _send_transacted(session: Session, producer: MessageProducer, count: int) -> None:
    for start in range(0, count, _BATCH):
        for _ in range(min(_BATCH, count - start)):
            producer.send(_message(session))
        session.commit()


def _check(message: Message | None) -> None:
    assert isinstance(message, TextMessage)
    check(len(message.text or ""), message.get_int_property("number"))


def _receive(session: Session, queue: Queue, count: int) -> None:
    with session.create_consumer(queue) as consumer:
        for _ in range(count):
            _check(consumer.receive(timeout=_PATIENCE))


def _listen(session: Session, queue: Queue, count: int) -> None:
    left = count
    done = threading.Event()
    by_hand = session.acknowledge_mode == CLIENT_ACKNOWLEDGE

    def got(message: Message) -> None:
        nonlocal left
        _check(message)
        left -= 1
        if by_hand and not left % _BATCH:
            message.acknowledge()
        if not left:
            done.set()

    with session.create_consumer(queue) as consumer:
        consumer.message_listener = got
        done.wait()


_SENDING: dict[str, Any] = {
    "async": _send_async,
    "large": partial(_send_async, make=_large),
    "sync": _send_sync,
    "transacted": _send_transacted,
}
_RECEIVING: dict[str, tuple[int, Any]] = {
    "auto": (AUTO_ACKNOWLEDGE, _listen),
    "dups_ok": (DUPS_OK_ACKNOWLEDGE, _listen),
    "client": (CLIENT_ACKNOWLEDGE, _listen),
    "receive": (AUTO_ACKNOWLEDGE, _receive),
}


def main(wanted: Arguments) -> None:
    """Roles ``async``, ``large``, ``sync``, ``transacted``, and those of receivers.

    These are ``auto``, ``dups_ok`` and ``client``, which acknowledges a hundred at a time, by listeners; ``receive``.
    """
    queue = Queue(wanted.queue)
    window: dict[str, Any] = {} if "send_window" in wanted.url else {"send_window": WINDOW}
    with jmsbridge.connect(wanted.url, **window) as connection:
        connection.start()
        if wanted.role in _SENDING:
            session = connection.create_session(wanted.role == "transacted")
            producer = session.create_producer(queue)
            serve(lambda count: _SENDING[wanted.role](session, producer, count))
        else:
            mode, receive = _RECEIVING[wanted.role]
            session = connection.create_session(mode)
            serve(lambda count: receive(session, queue, count))


if __name__ == "__main__":
    main(arguments())
