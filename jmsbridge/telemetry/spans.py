"""Spans of one connection: their names, attributes and links, and the measurements that go with them."""

import contextlib
import functools
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Histogram, Observation
from opentelemetry.trace import Link, Span, SpanKind, StatusCode

from jmsbridge.message import Message
from jmsbridge.metadata import __version__
from jmsbridge.spi import Address, Endpoint
from jmsbridge.telemetry.carrying import context_of

__all__ = ["Attributes", "Telemetry"]

Attributes = dict[str, str | int | bool]

_NAME = "jmsbridge"
_SYSTEM = "jms"


_watched: "weakref.WeakValueDictionary[int, Telemetry]" = weakref.WeakValueDictionary()


class _Instruments:
    """Those of the process: a meter has one instrument of each name."""

    def __init__(self) -> None:
        meter = metrics.get_meter(_NAME, __version__)
        count, many = meter.create_counter, "{message}"
        self.operation = meter.create_histogram(
            "messaging.client.operation.duration", "s", "Duration of sends, receives and settlements."
        )
        self.process = meter.create_histogram("messaging.process.duration", "s", "Duration of message listeners.")
        self.sent = count("messaging.client.sent.messages", many, "Messages sent.")
        self.consumed = count("messaging.client.consumed.messages", many, "Messages that the application got.")
        self.redelivered = count("jmsbridge.redelivered.messages", many, "Messages delivered with JMSRedelivered.")
        self.dead = count("jmsbridge.dead_lettered.messages", many, "Messages moved to a dead-letter queue.")
        self.reconnects = count("jmsbridge.reconnects", "{reconnect}", "Links that replaced lost ones.")
        for name, text, look in (
            ("unsettled", "Messages that the application got and that are not settled.", _unsettled),
            ("unconfirmed", "Messages sent and not confirmed.", _unconfirmed),
        ):
            meter.create_observable_gauge(f"jmsbridge.{name}.messages", [look], many, text)


_instruments = functools.cache(_Instruments)


def _unsettled(_: CallbackOptions) -> Iterable[Observation]:
    return _observed(lambda one: one.unsettled())


def _unconfirmed(_: CallbackOptions) -> Iterable[Observation]:
    return _observed(lambda one: one.unconfirmed())


def _observed(look: "Callable[[Telemetry], int]") -> Iterable[Observation]:
    """One observation for each broker, over all connections to it."""
    sums: dict[tuple[tuple[str, str | int | bool], ...], int] = {}
    for one in filter(None, (kept() for kept in _watched.valuerefs())):  # in one step, as others come and go
        key = tuple(one.common.items())
        sums[key] = sums.get(key, 0) + look(one)
    return [Observation(value, dict(key)) for key, value in sums.items()]


class Telemetry:
    """Makes the spans and counts of one connection; thread-safe."""

    def __init__(self, endpoint: Endpoint, unsettled: Callable[[], int], unconfirmed: Callable[[], int]) -> None:
        self.unsettled = unsettled
        self.unconfirmed = unconfirmed
        self._tracer = trace.get_tracer(_NAME, __version__)
        self.common: Attributes = {"messaging.system": _SYSTEM}
        if endpoint.host:
            self.common["server.address"] = endpoint.host
            if endpoint.port:
                self.common["server.port"] = endpoint.port
        self._meters = _instruments()

    def watch(self) -> None:
        """The connection is there: the gauges look at it from now on."""
        _watched[id(self)] = self

    # ---- spans

    def sending(self, address: Address) -> Span:
        """A span for a send, which the caller ends."""
        return self._start("send", "send", SpanKind.PRODUCER, _of(address))

    def sent(self, span: Span, address: Address, began: int, error: BaseException | None = None) -> None:
        """A send has its outcome; ``began`` in nanoseconds of the monotonic clock."""
        attributes = self._measured("send", "send", address, error)
        self._meters.operation.record(_seconds(began), attributes)
        self._meters.sent.add(1, attributes)
        _end(span, error)

    def received(self, message: Message, began: int) -> None:
        """``receive`` returns a message; the span for it has ended."""
        passed = time.monotonic_ns() - began
        attributes, links = _of_message(message), _links([message._properties])
        self._start("receive", "receive", SpanKind.CLIENT, attributes, links=links, ago=passed).end()
        measured = self._measured("receive", "receive", _address(message))
        self._meters.operation.record(passed / 1e9, measured)
        self._count(measured, message)

    @contextlib.contextmanager
    def processing(self, message: Message, failed: Callable[[], BaseException | None]) -> Iterator[None]:
        """A message listener runs: its span is the current one, and its parent that of the send.

        ``failed`` tells at the end what it did not raise and yet failed by.
        """
        before, links = context_of(message._properties), _links([message._properties])
        span = self._start("process", "process", SpanKind.CONSUMER, _of_message(message), before, links=links)
        measured = self._measured("process", "process", _address(message))
        self._count(measured, message)
        with (
            _ended(span, self._meters.process, measured, failed),
            trace.use_span(span, record_exception=False, set_status_on_exception=False),
        ):
            yield

    @contextlib.contextmanager
    def settling(self, name: str, messages: list[dict[str, Any]]) -> Iterator[None]:
        """Messages with these properties are settled, by ``name``: commit, rollback, recover or ack."""
        attributes: Attributes = {"messaging.batch.message_count": len(messages)}
        span = self._start(name, "settle", SpanKind.CLIENT, attributes, links=_links(messages))
        with _ended(span, self._meters.operation, self.common | _operation(name, "settle")):
            yield

    # ---- counts

    def dead_lettered(self, address: Address) -> None:
        """A message is moved to a dead-letter queue."""
        self._meters.dead.add(1, self.common | _destination(address))

    def reconnected(self) -> None:
        """A new link has replaced a lost one."""
        self._meters.reconnects.add(1, self.common)

    def _count(self, attributes: Attributes, message: Message) -> None:
        self._meters.consumed.add(1, attributes)
        if message.jms_redelivered:
            self._meters.redelivered.add(1, attributes)

    # ---- attributes

    def _start(
        self,
        name: str,
        kind: str,
        span_kind: SpanKind,
        attributes: Attributes,
        parent: Context | None = None,
        *,
        links: list[Link] | None = None,
        ago: int = 0,
    ) -> Span:
        where = attributes.get("messaging.destination.template") or attributes.get("messaging.destination.name")
        return self._tracer.start_span(
            name if where is None else f"{name} {where}",
            parent,
            span_kind,
            self.common | _operation(name, kind) | attributes,
            links or (),
            time.time_ns() - ago if ago else None,
        )

    def _measured(self, name: str, kind: str, address: Address, error: BaseException | None = None) -> Attributes:
        return self.common | _operation(name, kind) | _destination(address) | _error(error)


def _address(message: Message) -> Address:
    destination = message.jms_destination
    assert destination is not None  # of a message that was received
    return destination.address


def _operation(name: str, kind: str) -> Attributes:
    return {"messaging.operation.name": name, "messaging.operation.type": kind}


def _of(address: Address) -> Attributes:
    return _destination(address) | {"messaging.destination.name": address.name}


def _of_message(message: Message) -> Attributes:
    found = _of(_address(message))
    if message.jms_message_id is not None:
        found["messaging.message.id"] = message.jms_message_id
    if isinstance(message._correlation_id, str):
        found["messaging.message.conversation_id"] = message._correlation_id
    return found


def _destination(address: Address) -> Attributes:
    """What tells destinations apart without a value for each temporary one."""
    if address.temporary:
        return {"messaging.destination.template": "(temporary)", "messaging.destination.temporary": True}
    return {"messaging.destination.name": address.name}


def _error(error: BaseException | None) -> Attributes:
    return {} if error is None else {"error.type": type(error).__name__}


def _links(all_properties: Iterable[Mapping[str, Any]]) -> list[Link]:
    contexts = (trace.get_current_span(context_of(each)).get_span_context() for each in all_properties)
    return [Link(context) for context in contexts if context.is_valid]


def _seconds(began: int) -> float:
    return (time.monotonic_ns() - began) / 1e9


@contextlib.contextmanager
def _ended(
    span: Span,
    durations: Histogram,
    measured: Attributes,
    failed: Callable[[], BaseException | None] = lambda: None,
) -> Iterator[None]:
    """Measure the block and end its span; ``failed`` tells at the end what was not raised."""
    began = time.monotonic_ns()
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        dealt_with = failed()
        error = error or dealt_with
        durations.record(_seconds(began), measured | _error(error))
        _end(span, error)


def _end(span: Span, error: BaseException | None) -> None:
    if error is not None:
        span.record_exception(error)
        span.set_status(StatusCode.ERROR, str(error))
        span.set_attribute("error.type", type(error).__name__)
    span.end()
