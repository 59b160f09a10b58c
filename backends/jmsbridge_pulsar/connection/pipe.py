"""One connection of the client library through the relay, and the one to a broker that belongs to it.

Bytes are passed on in both directions, and read only as far as necessary: see ``protocol``. What one side does not take
makes the relay read no more from the other, so that it holds little.
"""

import hmac
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.link_life import ignored
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge.transport.network.tls import client_context
from jmsbridge_pulsar.connection.attachments import ANSWERS
from jmsbridge_pulsar.connection.errors import LibraryLeft, LoginEnded, Migrated, Refusal
from jmsbridge_pulsar.connection.last_messages import LastMessages
from jmsbridge_pulsar.connection.options import login_of
from jmsbridge_pulsar.connection.protocol import (
    AUTH_CHALLENGE,
    CLOSE_CONSUMER,
    CLOSE_PRODUCER,
    CONNECTED,
    ERROR,
    LAST_RESPONSE,
    LOOKUP_RESPONSE,
    PARTITIONS_RESPONSE,
    REACHED_END,
    SEND_ERROR,
    SEND_RECEIPT,
    TOPIC_MIGRATED,
    Connect,
    Frame,
    Frames,
    Malformed,
    contents,
    encode_auth_response,
    encode_closed,
    encode_connect,
    encode_connected,
    encode_refusal,
    first_frame,
    number_of,
    parse_connect,
    soften,
    words_of,
)
from jmsbridge_pulsar.connection.upstream import Upstream

if TYPE_CHECKING:
    from jmsbridge_pulsar.connection.relay import Relay

__all__ = ["Pipe"]

_HIGH: Final = 1 << 20  # bytes that may wait for one side before the other is read no more
_WANTED: Final = ANSWERS | {
    AUTH_CHALLENGE,
    SEND_RECEIPT,
    SEND_ERROR,
    PARTITIONS_RESPONSE,
    REACHED_END,
    TOPIC_MIGRATED,
    LAST_RESPONSE,
}
_FINAL: Final = {9, 15, 22}  # codes of SEND_ERROR for one message alone: spoilt, its topic terminated, not allowed
_RENEWAL: Final = 60.0  # seconds after a login was renewed in which the end of the connection is the answer to it


class Pipe:
    """``door`` is the broker to ask for lookups, if it is not the one in the URL of the link."""

    def __init__(self, relay: "Relay", accepted: socket.socket, door: str | None) -> None:
        self._relay = relay
        self._door = door
        loop = relay.life.thread.loop
        self._near = ByteStream(loop, self._from_library, lambda: self._far.hold(False), self._library_left)
        self._far = ByteStream(loop, self._from_broker, lambda: self._near.hold(False), self._broke)
        self._last_messages = LastMessages(
            relay.life.thread.call_later,
            lambda frame: self._upstream.insert(frame),
            lambda frame: self._near.write(relay.attachments.answered(frame)),
        )
        self._upstream = Upstream(relay.controlled, relay.attachments, self._last_messages, self._far.write)
        self._answers = Frames(relay.largest)
        self._connect: Connect | None = None  # what the library asked for
        self._is_open = False  # the broker has accepted it
        self._is_leaving = False
        self._waiting = b""  # what the library wrote, until the broker is connected
        self._renewed = 0.0  # time.monotonic() when the login was renewed
        self._receive: Callable[[bytes], None] = self._identify
        self._near.adopt(accepted)
        self._timer = relay.life.thread.call_later(relay.life.endpoint.connect_timeout, self._too_late)

    def close(self) -> None:
        """Close both sides at once."""
        self._relay.life.thread.cancel(self._timer)
        self._last_messages.close()
        self._near.close()
        self._far.close()

    def leave(self) -> None:
        """Close the side of the broker, and the other one when the library has closed it, which drops the pipe."""
        if self._connect is None:
            self._relay.drop(self)
            return
        self._relay.life.thread.cancel(self._timer)
        self._far.close()
        self._is_leaving = True
        self._receive = ignored
        self._near.end_writing()

    def _too_late(self) -> None:
        """The time for the login is over."""
        if self._connect is None:
            self._relay.drop(self)
        elif not self._is_open:
            self._relay.end(self, TimeoutError("the broker does not answer"))

    # -- from the library

    def _from_library(self, data: bytes) -> None:
        self._receive(data)

    def _identify(self, data: bytes) -> None:
        self._waiting += data
        try:
            found = first_frame(self._waiting)
            if found is not None:
                self._waiting = self._waiting[len(found.data) :]
                self._open(parse_connect(found.command))
        except Malformed:
            self._relay.drop(self)

    def _open(self, connect: Connect) -> None:
        relay = self._relay
        if not hmac.compare_digest(connect.secret, relay.secret.encode()):
            relay.drop(self)  # not of this link
            return
        relay.trust(self)
        self._connect = connect
        self._receive = self._keep
        endpoint, options = relay.life.endpoint, relay.options
        try:
            host, port, proxied = relay.target(connect.broker or self._door)
            first = encode_connect(connect, login_of(endpoint, options), proxied)
            context = client_context(options, endpoint) if relay.is_secure else None
        except (BackendError, Malformed) as error:
            relay.end(self, error)
            return

        def opened(error: BaseException | None) -> None:
            if error is not None:
                relay.end(self, error)
                return
            self._receive = self._pass
            self._far.write(first)
            waiting, self._waiting = self._waiting, b""
            self._near.hold(False)
            self._pass(waiting)

        deadline = time.monotonic() + endpoint.connect_timeout
        self._far.connect(host, port, context, options.server_name or host, deadline, opened)

    def _keep(self, data: bytes) -> None:
        self._waiting += data
        self._near.hold(len(self._waiting) > _HIGH)

    def _pass(self, data: bytes) -> None:
        try:
            self._upstream.take(data)
        except Malformed as error:
            self._relay.end(self, error)
        if self._far.backlog > _HIGH:
            self._near.hold(True)

    def _library_left(self, error: BaseException) -> None:
        if self._connect is None or self._is_leaving:
            self._relay.drop(self)
        else:
            self._relay.end(self, LibraryLeft(self._relay.words.lately()))

    # -- from the broker

    def _from_broker(self, data: bytes) -> None:
        self._relay.heard = time.monotonic()
        passing = []
        try:
            for found in self._answers.feed(data):
                passed = self._take(found) if isinstance(found, Frame) else found
                if passed is None:
                    return
                passing.append(passed)
        except Malformed as error:
            self._relay.end(self, error)
            return
        self._near.write(*passing)
        if self._near.backlog > _HIGH:
            self._far.hold(True)

    def _take(self, frame: Frame) -> bytes | None:
        """What the library gets instead of this frame; None if the connection has ended."""
        if frame.kind == AUTH_CHALLENGE:
            return self._renew()
        if not self._is_open:
            return self._take_first(frame)
        if frame.kind in (SEND_RECEIPT, SEND_ERROR):
            return self._sent(frame)
        if frame.kind == REACHED_END:
            return b""  # a consumer has read a terminated topic: the library does not know it and ends the connection
        if frame.kind == TOPIC_MIGRATED:
            url = words_of(contents(frame.command), 4 if self._relay.is_secure else 3)
            self._relay.end(self, Migrated(url))
            return None
        if frame.kind == PARTITIONS_RESPONSE:
            data, said = soften(frame)
            self._relay.words.say(said)
            return data
        attachments = self._relay.attachments
        if frame.kind in (CLOSE_PRODUCER, CLOSE_CONSUMER):
            return attachments.closed(frame, encode_closed(frame))
        answer = self._last_messages.take(frame)
        if answer is None:
            return b""
        if answer.kind == LAST_RESPONSE:
            return answer.data
        data = attachments.answered(answer)
        return self._relay.answer_lookup(frame) if frame.kind == LOOKUP_RESPONSE else data

    def _sent(self, frame: Frame) -> bytes:
        """The broker has stored what was sent, or not."""
        found, is_stored = contents(frame.command), frame.kind == SEND_RECEIPT
        if not is_stored:
            self._relay.words.say(words_of(found, 4))
            if number_of(found, 3) not in _FINAL:
                return frame.data  # the library ends the connection
        sender = self._relay.attachments.sender(number_of(found, 1))
        if sender is None:
            return frame.data if is_stored else encode_refusal(frame)
        sender.answered(number_of(found, 2), is_stored)
        return b""

    def _take_first(self, frame: Frame) -> bytes | None:
        if frame.kind == ERROR:
            found = contents(frame.command)
            self._relay.end(self, Refusal(number_of(found, 2), words_of(found, 3)))
            return None
        if frame.kind != CONNECTED:
            raise Malformed(f"an answer of type {frame.kind} to CONNECT")
        self._is_open = True
        self._relay.learn(frame.command)
        self._answers.largest = self._relay.largest
        self._answers.wanted = _WANTED
        return encode_connected(frame)

    def _renew(self) -> bytes | None:
        """The broker asks for the login as it is now: a token expires, and a file may have a new one."""
        relay = self._relay
        assert self._connect is not None
        try:
            answer = encode_auth_response(self._connect, login_of(relay.life.endpoint, relay.options))
        except BackendError as error:
            relay.end(self, error)
            return None
        self._renewed = time.monotonic()
        self._upstream.insert(answer)
        return b""

    def _broke(self, error: BaseException) -> None:
        if self._renewed and time.monotonic() - self._renewed < _RENEWAL:
            error = LoginEnded(str(error))
        self._relay.end(self, error)
