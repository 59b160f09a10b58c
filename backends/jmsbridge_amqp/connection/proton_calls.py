"""The only file with private names of python-qpid-proton: sends, receives and settles messages through its C functions.

proton's public classes wrap each delivery in several Python objects, which costs three to four times as much. Where
this version of proton has not all the C functions, ``PublicCalls`` does the same with the public classes. Whatever
these functions return belongs to the I/O thread: it must not be kept elsewhere.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol

import proton

from jmsbridge_amqp.connection import states

__all__ = ["Calls", "FastCalls", "Listener", "PublicCalls", "best_calls"]

_NAMES = (
    "pn_collector_peek", "pn_collector_pop", "pn_data_clear", "pn_data_copy", "pn_data_encode", "pn_data_enter",
    "pn_data_exit", "pn_data_free", "pn_data_put_binary", "pn_data_put_described", "pn_data_put_list",
    "pn_data_put_ulong", "pn_data", "pn_delivery", "pn_delivery_aborted", "pn_delivery_local", "pn_delivery_partial",
    "pn_delivery_pending", "pn_delivery_readable", "pn_delivery_remote", "pn_delivery_remote_state",
    "pn_delivery_settle", "pn_delivery_settled", "pn_delivery_update", "pn_disposition_data",
    "pn_disposition_set_failed", "pn_event_delivery", "pn_event_link", "pn_event_type", "pn_link_advance",
    "pn_link_credit", "pn_link_drain", "pn_link_drained", "pn_link_flow", "pn_link_get_drain",
    "pn_link_recv", "pn_link_send",
)  # fmt: skip
_ROOM = 1 << 16

_CONTROL = frozenset(
    int(kind.number)
    for kind in (
        proton.Event.CONNECTION_REMOTE_OPEN, proton.Event.CONNECTION_REMOTE_CLOSE,
        proton.Event.SESSION_REMOTE_OPEN, proton.Event.SESSION_REMOTE_CLOSE,
        proton.Event.LINK_REMOTE_OPEN, proton.Event.LINK_REMOTE_CLOSE, proton.Event.LINK_REMOTE_DETACH,
        proton.Event.TRANSPORT_ERROR, proton.Event.TRANSPORT_CLOSED, proton.Event.TRANSPORT_TAIL_CLOSED,
    )
)  # fmt: skip


class Listener(Protocol):
    """What gets the frequent events of a link."""

    def on_delivery(self, delivery: Any) -> None:
        """A delivery arrived, or its state changed."""

    def on_flow(self) -> None:
        """The broker changed the credit."""


class Calls(Protocol):
    """What ``FastCalls`` and ``PublicCalls`` implement. ``link`` is a result of ``handle``; deliveries are hashable."""

    def handle(self, endpoint: Any) -> Hashable:
        """What the other methods take as ``link``; for a session, link or connection its key in the driver's tables."""

    def pump(self, collector: Any, links: Mapping[Hashable, Listener], control: Callable[[Any], None]) -> None:
        """Handle all events; those of opening and closing go to ``control`` as proton's objects."""

    def send(self, link: Any, number: int, data: bytes, txn: bytes | None, *, settled: bool) -> Hashable:
        """Write one message, in a transaction if ``txn`` is given, and return its delivery.

        ``number`` is its tag: different for each unsettled delivery of the link.
        """

    def outcome(self, delivery: Any) -> int:
        """The state that the broker gave a delivery; in a transaction the outcome in that state. 0 if none."""

    def is_settled(self, delivery: Any) -> bool:
        """Whether the other side has settled it."""

    def settle(self, delivery: Any) -> None:
        """Forget it."""

    def read(self, link: Any, delivery: Any) -> bytes | None:
        """A message that has arrived completely, else None."""

    def drop_aborted(self, delivery: Any) -> bool:
        """Settle a delivery that its sender has aborted, which has used up one credit; false if it was not aborted."""

    def dispose(self, delivery: Any, state: int, *, failed: bool = True) -> None:
        """Settle a received message with this outcome; ``failed`` says whether a modified one counts as failed."""

    def accept_in(self, delivery: Any, txn: bytes) -> None:
        """Accept a received message in a transaction, and settle it."""

    def credit(self, link: Any) -> int:
        """How many messages may be sent, or may still arrive."""

    def grant(self, link: Any, count: int) -> None:
        """Allow that many more messages."""

    def drain(self, link: Any, count: int) -> None:
        """Allow that many more, and ask the broker to send what it has and then to take back the rest of the credit."""

    def return_credit(self, link: Any) -> None:
        """Answer the broker's drain of a sender."""

    def public(self, delivery: Any) -> Any:
        """The delivery as an object of proton's public classes."""


class FastCalls:
    """Through proton's C functions."""

    def __init__(self) -> None:
        import cproton_ffi

        self._ffi: Any = cproton_ffi.ffi
        self._lib: Any = cproton_ffi.lib
        for name in _NAMES:
            getattr(self._lib, name)
        self._room = self._ffi.new("char[]", _ROOM)
        self._number = self._ffi.new("uint64_t[1]")
        self._tag = self._ffi.new("pn_bytes_t *", (8, self._ffi.cast("char *", self._number)))[0]
        self._sends = _Template(self._ffi, self._lib, accept=False)
        self._accepts = _Template(self._ffi, self._lib, accept=True)

    def handle(self, endpoint: Any) -> Hashable:
        """The C pointer, which has no finaliser."""
        pointer: Hashable = endpoint._impl
        return pointer

    def pump(self, collector: Any, links: Mapping[Hashable, Listener], control: Callable[[Any], None]) -> None:
        """Handle all events."""
        lib, null, events = self._lib, self._ffi.NULL, collector._impl
        peek, pop, kind_of, link_of = (
            lib.pn_collector_peek, lib.pn_collector_pop, lib.pn_event_type, lib.pn_event_link
        )  # fmt: skip
        delivery_of, delivery, flow = (
            lib.pn_event_delivery, proton.Event.DELIVERY.number, proton.Event.LINK_FLOW.number
        )  # fmt: skip
        while (event := peek(events)) != null:
            kind = kind_of(event)
            if kind == delivery:
                listener = links.get(link_of(event))
                if listener is not None:
                    listener.on_delivery(delivery_of(event))
            elif kind == flow:
                listener = links.get(link_of(event))
                if listener is not None:
                    listener.on_flow()
            elif kind in _CONTROL:
                control(collector.peek())
            pop(events)

    def send(self, link: Any, number: int, data: bytes, txn: bytes | None, *, settled: bool) -> Hashable:
        """Write one message."""
        lib = self._lib
        self._number[0] = number
        made: Hashable = lib.pn_delivery(link, self._tag)  # copies the tag
        if txn is not None:
            self._sends.put(made, txn)
            lib.pn_delivery_update(made, states.TRANSACTIONAL)
        lib.pn_link_send(link, data, len(data))
        lib.pn_link_advance(link)
        if settled:
            lib.pn_delivery_settle(made)
        return made

    def outcome(self, delivery: Any) -> int:
        """The state of a delivery."""
        state: int = self._lib.pn_delivery_remote_state(delivery)
        return self._outcome_in(delivery) if state == states.TRANSACTIONAL else state

    def _outcome_in(self, delivery: Any) -> int:
        lib = self._lib
        size = lib.pn_data_encode(lib.pn_disposition_data(lib.pn_delivery_remote(delivery)), self._room, _ROOM)
        raw = bytes(self._ffi.buffer(self._room, max(0, size)))
        if raw[:1] == b"\xd0" and raw[9:10] == b"\xa0":  # a long list, as proton writes it, with a short name
            at = 11 + raw[10]
            if raw[at : at + 2] == b"\x00\x53":
                return raw[at + 2]
            if raw[at:] in (b"", b"\x40"):
                return 0
        return states.outcome_in(self.public(delivery).remote.data)

    def is_settled(self, delivery: Any) -> bool:
        """Whether the broker has settled it."""
        return bool(self._lib.pn_delivery_settled(delivery))

    def settle(self, delivery: Any) -> None:
        """Forget it."""
        self._lib.pn_delivery_settle(delivery)

    def read(self, link: Any, delivery: Any) -> bytes | None:
        """A message that has arrived completely."""
        lib = self._lib
        if not lib.pn_delivery_readable(delivery) or lib.pn_delivery_partial(delivery):
            return None
        if lib.pn_delivery_aborted(delivery):
            return None
        size = lib.pn_delivery_pending(delivery)
        room = self._room if size <= _ROOM else self._ffi.new("char[]", size)
        lib.pn_link_recv(link, room, size)
        lib.pn_link_advance(link)
        data: bytes = self._ffi.buffer(room, size)[:]
        return data

    def drop_aborted(self, delivery: Any) -> bool:
        """Settle an aborted delivery."""
        is_aborted = bool(self._lib.pn_delivery_aborted(delivery))
        if is_aborted:
            self._lib.pn_delivery_settle(delivery)
        return is_aborted

    def dispose(self, delivery: Any, state: int, *, failed: bool = True) -> None:
        """Settle with an outcome."""
        lib = self._lib
        if state == states.MODIFIED and failed:
            lib.pn_disposition_set_failed(lib.pn_delivery_local(delivery), True)
        lib.pn_delivery_update(delivery, state)
        lib.pn_delivery_settle(delivery)

    def accept_in(self, delivery: Any, txn: bytes) -> None:
        """Accept in a transaction."""
        self._accepts.put(delivery, txn)
        self._lib.pn_delivery_update(delivery, states.TRANSACTIONAL)
        self._lib.pn_delivery_settle(delivery)

    def credit(self, link: Any) -> int:
        """The link's credit."""
        credit: int = self._lib.pn_link_credit(link)
        return credit

    def grant(self, link: Any, count: int) -> None:
        """Add to it."""
        self._lib.pn_link_flow(link, count)

    def drain(self, link: Any, count: int) -> None:
        """Ask the broker to use the credit up, or to take back what is left of it."""
        self._lib.pn_link_drain(link, count)

    def return_credit(self, link: Any) -> None:
        """Answer a drain."""
        if self._lib.pn_link_get_drain(link):
            self._lib.pn_link_drained(link)

    def public(self, delivery: Any) -> Any:
        """proton's object."""
        return proton.Delivery.wrap(delivery)


class _Template:
    """The state of a delivery in one transaction, encoded once."""

    def __init__(self, ffi: Any, lib: Any, *, accept: bool) -> None:
        self._ffi, self._lib, self._accept = ffi, lib, accept
        self._data = ffi.gc(lib.pn_data(16), lib.pn_data_free)
        self._txn: bytes | None = None

    def put(self, delivery: Any, txn: bytes) -> None:
        lib = self._lib
        if txn != self._txn:
            self._fill(txn)
        lib.pn_data_copy(lib.pn_disposition_data(lib.pn_delivery_local(delivery)), self._data)

    def _fill(self, txn: bytes) -> None:
        lib, data = self._lib, self._data
        lib.pn_data_clear(data)
        lib.pn_data_put_list(data)
        lib.pn_data_enter(data)
        lib.pn_data_put_binary(data, (len(txn), self._ffi.from_buffer(txn)))
        if self._accept:
            lib.pn_data_put_described(data)
            lib.pn_data_enter(data)
            lib.pn_data_put_ulong(data, states.ACCEPTED)
            lib.pn_data_put_list(data)
            lib.pn_data_exit(data)
        lib.pn_data_exit(data)
        self._txn = txn


class PublicCalls:
    """Through proton's public classes only."""

    def handle(self, endpoint: Any) -> Hashable:
        """The object itself."""
        found: Hashable = endpoint
        return found

    def pump(self, collector: Any, links: Mapping[Hashable, Listener], control: Callable[[Any], None]) -> None:
        """Handle all events."""
        while (event := collector.peek()) is not None:
            kind = event.type
            if kind == proton.Event.DELIVERY:
                listener = links.get(event.link)
                if listener is not None:
                    listener.on_delivery(event.delivery)
            elif kind == proton.Event.LINK_FLOW:
                listener = links.get(event.link)
                if listener is not None:
                    listener.on_flow()
            elif kind.number in _CONTROL:
                control(event)
            collector.pop()

    def send(self, link: Any, number: int, data: bytes, txn: bytes | None, *, settled: bool) -> Hashable:
        """Write one message."""
        made: Hashable = link.delivery(number.to_bytes(8, "big"))
        if txn is not None:
            _update_in(made, [txn])
        link.stream(data)
        link.advance()
        if settled:
            made.settle()  # type: ignore[attr-defined]
        return made

    def outcome(self, delivery: Any) -> int:
        """The state of a delivery."""
        state = int(delivery.remote_state)
        return states.outcome_in(delivery.remote.data) if state == states.TRANSACTIONAL else state

    def is_settled(self, delivery: Any) -> bool:
        """Whether the broker has settled it."""
        return bool(delivery.settled)

    def settle(self, delivery: Any) -> None:
        """Forget it."""
        delivery.settle()

    def read(self, link: Any, delivery: Any) -> bytes | None:
        """A message that has arrived completely."""
        if not delivery.readable or delivery.partial or delivery.aborted:
            return None
        data = link.recv(delivery.pending) or b""
        link.advance()
        return bytes(data)

    def drop_aborted(self, delivery: Any) -> bool:
        """Settle an aborted delivery."""
        is_aborted = bool(delivery.aborted)
        if is_aborted:
            delivery.settle()
        return is_aborted

    def dispose(self, delivery: Any, state: int, *, failed: bool = True) -> None:
        """Settle with an outcome."""
        if state == states.MODIFIED and failed:
            delivery.local.failed = True
        delivery.update(state)
        delivery.settle()

    def accept_in(self, delivery: Any, txn: bytes) -> None:
        """Accept in a transaction."""
        _update_in(delivery, [txn, proton.Described(proton.ulong(states.ACCEPTED), [])])
        delivery.settle()

    def credit(self, link: Any) -> int:
        """The link's credit."""
        return int(link.credit)

    def grant(self, link: Any, count: int) -> None:
        """Add to it."""
        link.flow(count)

    def drain(self, link: Any, count: int) -> None:
        """Ask the broker to use the credit up, or to take back what is left of it."""
        link.drain(count)

    def return_credit(self, link: Any) -> None:
        """Answer a drain."""
        if link.drain_mode:
            link.drained()

    def public(self, delivery: Any) -> Any:
        """The object itself."""
        return delivery


def _update_in(delivery: Any, data: list[Any]) -> None:
    delivery.local.data = data
    delivery.update(states.TRANSACTIONAL)


def best_calls() -> Calls:
    """The C functions if this version of proton has them all."""
    try:
        return FastCalls()
    except (ImportError, AttributeError):
        return PublicCalls()
