"""Spans, metrics and trace context with OpenTelemetry's own exporters."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import jmsbridge
import jmsbridge_embedded
from jmsbridge import CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED, Connection, Message, Queue, TextMessage, aio
from jmsbridge.app import App
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.telemetry.carrying import context_of, with_context

_names = itertools.count(1)
QUEUE = Queue("orders")
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def providers() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """OpenTelemetry's providers can be set once in a process."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


@pytest.fixture
def spans(providers: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> InMemorySpanExporter:
    providers[0].clear()
    return providers[0]


@pytest.fixture
def url() -> Iterator[str]:
    name = f"telemetry-{next(_names)}"
    yield f"embedded:?broker={name}"
    jmsbridge_embedded.discard(name)


@pytest.fixture
def connection(url: str, spans: InMemorySpanExporter) -> Iterator[Connection]:
    with jmsbridge.connect(url, telemetry=True, redelivery_delay=0, max_redeliveries=1) as made:
        made.start()
        yield made


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def total(reader: InMemoryMetricReader, name: str, **wanted: str) -> float:
    """The sum of a counter, the count of a histogram, or the value of a gauge, over points with these attributes."""
    data = reader.get_metrics_data()
    found = 0.0
    for one in (m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics) if data else ():
        for point in one.data.data_points if one.name == name else ():
            if all(dict(point.attributes or {}).get(key.replace("_", ".")) == text for key, text in wanted.items()):
                found += point.count if hasattr(point, "count") else point.value
    return found


def test_a_send_and_its_receive(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session()
    message = session.create_text_message("one")
    message.jms_correlation_id = "c1"
    session.create_producer(QUEUE).send(message)
    assert session.create_consumer(QUEUE).receive(timeout=1) is not None
    (send,) = named(spans, "send orders")
    (receive,) = named(spans, "receive orders")
    assert (send.kind, receive.kind) == (SpanKind.PRODUCER, SpanKind.CLIENT)
    assert attributes(send) == {
        "messaging.system": "jms",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.message.id": message.jms_message_id,
    }
    assert attributes(receive) == attributes(send) | {
        "messaging.operation.name": "receive",
        "messaging.operation.type": "receive",
        "messaging.message.conversation_id": "c1",
    }
    assert [link.context.span_id for link in receive.links] == [send.context.span_id]


def test_the_sent_message_of_the_caller_is_left_as_it_was(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session()
    message = session.create_text_message("one")
    session.create_producer(QUEUE).send(message)
    assert dict(message.properties) == {}
    received = session.create_consumer(QUEUE).receive(timeout=1)
    assert received is not None
    assert received.property_exists("traceparent")
    session.create_producer(Queue("next")).send(received)  # forwarded: it gets the context of this send
    forwarded = session.create_consumer(Queue("next")).receive(timeout=1)
    assert forwarded is not None
    assert forwarded.get_string_property("traceparent") != received.get_string_property("traceparent")


def test_a_receive_without_message_has_no_span(connection: Connection, spans: InMemorySpanExporter) -> None:
    consumer = connection.create_session().create_consumer(QUEUE)
    assert consumer.receive(timeout=0.01) is None
    assert spans.get_finished_spans() == ()


def test_a_listener_continues_the_trace(connection: Connection, spans: InMemorySpanExporter) -> None:
    called = threading.Event()
    session = connection.create_session()

    def listener(message: Message) -> None:
        trace.get_tracer("test").start_span("work").end()
        called.set()

    session.create_consumer(QUEUE).message_listener = listener
    sender = connection.create_session()
    with trace.get_tracer("test").start_as_current_span("request") as request:
        sender.create_producer(QUEUE).send("one")
    assert called.wait(5)
    session.close()
    (process,), (send,), (work,) = named(spans, "process orders"), named(spans, "send orders"), named(spans, "work")
    assert process.kind == SpanKind.CONSUMER
    assert process.parent is not None
    assert work.parent is not None
    assert send.parent is not None
    assert send.parent.span_id == request.get_span_context().span_id
    assert process.parent.span_id == send.context.span_id
    assert work.parent.span_id == process.context.span_id
    assert process.context.trace_id == request.get_span_context().trace_id


def test_a_listener_that_raises(
    connection: Connection,
    spans: InMemorySpanExporter,
    providers: tuple[InMemorySpanExporter, InMemoryMetricReader],
) -> None:
    reader = providers[1]
    before = total(reader, "jmsbridge.dead_lettered.messages"), total(reader, "jmsbridge.redelivered.messages")
    calls: list[str] = []
    dead = threading.Event()

    def listener(message: Message) -> None:
        calls.append("called")
        if len(calls) == 2:
            dead.set()
        raise ZeroDivisionError("no")

    session = connection.create_session()
    session.create_consumer(QUEUE).message_listener = listener
    with connection.create_session() as sender:
        sender.create_producer(QUEUE).send("one")
    assert dead.wait(5)
    session.close()
    first, second = named(spans, "process orders")
    assert first.status.status_code == second.status.status_code == StatusCode.ERROR
    assert attributes(first)["error.type"] == "ZeroDivisionError"
    assert total(reader, "jmsbridge.dead_lettered.messages") == before[0] + 1
    assert total(reader, "jmsbridge.redelivered.messages") == before[1] + 1


def test_a_function_of_an_application_that_raises(
    url: str, spans: InMemorySpanExporter, providers: tuple[InMemorySpanExporter, InMemoryMetricReader]
) -> None:
    """The application catches the error, since it has a transaction to roll back; and it dead-letters by itself."""
    reader = providers[1]
    before = total(reader, "jmsbridge.dead_lettered.messages")
    app = App(url, telemetry=True)

    @app.listener("orders", transacted=True, redelivery={"max_redeliveries": 0, "delay": 0})
    def on_order(number: int) -> None:
        raise ZeroDivisionError

    with app, jmsbridge.context(url) as context:
        producer = context.create_producer()
        for text in ("7", "no JSON", "8"):
            producer.send(QUEUE, text)
        letters = context.create_consumer(Queue("DLQ"))
        assert all(letters.receive(timeout=5) is not None for _ in range(3))
    processed = named(spans, "process orders")
    assert [each.status.status_code for each in processed] == [StatusCode.ERROR] * 3
    errors = [attributes(each)["error.type"] for each in processed]
    assert errors == ["ZeroDivisionError", "ConversionException", "ZeroDivisionError"]
    assert total(reader, "jmsbridge.dead_lettered.messages") == before + 3


def test_asynchronous_sends_end_with_their_outcome(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session()
    producer = session.create_producer(QUEUE)
    sent = [producer.send_async(f"m{number}") for number in range(3)]
    for each in sent:
        each.result(5)
    assert len(named(spans, "send orders")) == 3


def test_a_send_that_fails(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session()
    gone = session.create_temporary_queue()
    gone.delete()
    with pytest.raises(jmsbridge.InvalidDestination):
        session.create_producer(None).send(gone, "one")
    (send,) = named(spans, "send (temporary)")
    assert send.status.status_code == StatusCode.ERROR
    assert attributes(send)["error.type"] == "InvalidDestinationException"


def test_settlements_link_to_what_they_settle(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    producer, consumer = session.create_producer(QUEUE), session.create_consumer(QUEUE)
    for number in range(3):
        producer.send(f"m{number}")
    session.commit()
    for _ in range(3):
        assert consumer.receive(timeout=1) is not None
    session.commit()
    empty, full = named(spans, "commit")
    assert attributes(empty)["messaging.batch.message_count"] == 0
    assert attributes(full)["messaging.batch.message_count"] == 3
    assert [link.context.span_id for link in full.links] == [
        span.context.span_id for span in named(spans, "send orders")
    ]


def test_acknowledge_and_recover(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
    session.create_producer(QUEUE).send("one")
    consumer = session.create_consumer(QUEUE)
    assert consumer.receive(timeout=1) is not None
    session.recover()
    again = consumer.receive(timeout=1)
    assert again is not None
    again.acknowledge()
    assert [attributes(each)["messaging.batch.message_count"] for each in named(spans, "recover")] == [1]
    assert [attributes(each)["messaging.batch.message_count"] for each in named(spans, "ack")] == [1]


def test_temporary_destinations_have_one_name(connection: Connection, spans: InMemorySpanExporter) -> None:
    session = connection.create_session()
    answers = session.create_temporary_queue()
    session.create_producer(answers).send("one")
    (send,) = named(spans, "send (temporary)")
    assert attributes(send)["messaging.destination.temporary"] is True


def test_metrics(connection: Connection, providers: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> None:
    reader = providers[1]
    session = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
    queue = Queue("metered")
    session.create_producer(queue).send("one")
    message = session.create_consumer(queue).receive(timeout=1)
    assert message is not None
    destination = {"messaging_destination_name": "metered"}
    assert total(reader, "messaging.client.sent.messages", **destination) == 1
    assert total(reader, "messaging.client.consumed.messages", **destination) == 1
    assert total(reader, "messaging.client.operation.duration", **destination) == 2
    assert total(reader, "jmsbridge.unsettled.messages") >= 1
    message.acknowledge()


def test_the_context_is_written_as_java_s_agent_writes_it() -> None:
    """A dash is no part of a property's name, so the agent writes ``__dash__``."""
    context = context_of({"traceparent": PARENT, "other": 7})
    assert format(trace.get_current_span(context).get_span_context().trace_id, "032x") == TRACE
    assert trace.get_current_span(context_of({})).get_span_context().is_valid is False
    with trace.use_span(trace.get_current_span(context)):
        assert with_context({"a": 1}) == {"a": 1, "traceparent": PARENT}


def test_a_forwarded_message_has_nothing_of_the_context_with_which_it_came() -> None:
    came = {"a": 1, "traceparent": PARENT.replace(TRACE, "f" * 32), "tracestate": "vendor=old", "baggage": "user=alice"}
    with trace.use_span(trace.get_current_span(context_of({"traceparent": PARENT}))):
        assert with_context(came) == {"a": 1, "traceparent": PARENT}
    with trace.use_span(trace.INVALID_SPAN):
        assert with_context(came) == came


def test_gauges_have_values_while_another_connection_is_made(
    providers: tuple[InMemorySpanExporter, InMemoryMetricReader],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make = ConnectionCore.__init__

    def look(*given: Any) -> None:
        total(providers[1], "jmsbridge.unsettled.messages")
        make(*given)

    monkeypatch.setattr(ConnectionCore, "__init__", look)
    jmsbridge.connect(url, telemetry=True).close()
    assert "Callback failed" not in caplog.text


def test_without_the_option_nothing_is_loaded(url: str, spans: InMemorySpanExporter) -> None:
    with jmsbridge.context(url) as context:
        context.create_producer().send(QUEUE, "one")
        message = context.create_consumer(QUEUE).receive(timeout=1)
    assert isinstance(message, TextMessage)
    assert not message.property_exists("traceparent")
    assert spans.get_finished_spans() == ()


def test_tasks_have_the_spans_of_threads(url: str, spans: InMemorySpanExporter) -> None:
    """Sends that wait in line have the parent of their task; the span of an ``async`` listener lasts until it ends."""
    tracer = trace.get_tracer("test")

    async def main() -> None:
        async with aio.connect(url, telemetry=True, send_window=2) as connection:
            await connection.start()
            session = await connection.create_session()
            producer = await session.create_producer(QUEUE)

            async def send(number: int) -> None:
                with tracer.start_as_current_span(f"request {number}"):
                    await producer.send(str(number))

            await asyncio.gather(*map(send, range(5)))
            consumer = await session.create_consumer(QUEUE)
            assert await consumer.receive() is not None
            ended = asyncio.Event()

            async def listen(message: Message) -> None:
                await asyncio.sleep(0)
                with tracer.start_as_current_span("within"):
                    ended.set()

            consumer.message_listener = listen
            await ended.wait()

    asyncio.run(main())
    parents = [span.parent.span_id for span in named(spans, "send orders") if span.parent is not None]
    requests = [span.context.span_id for number in range(5) for span in named(spans, f"request {number}")]
    assert parents == requests
    assert len(named(spans, "receive orders")) == 1
    within = named(spans, "within")[0].parent
    assert within is not None
    assert within.span_id in {span.context.span_id for span in named(spans, "process orders")}


def test_async_listeners_of_an_application_continue_the_trace(url: str, spans: InMemorySpanExporter) -> None:
    app, heard, done = App(url, telemetry=True, redelivery_delay=0), list[int](), threading.Event()

    @app.listener("orders")
    async def listener(text: str) -> None:
        await asyncio.sleep(0)
        with trace.get_tracer("mine").start_as_current_span("inner"):
            heard.append(len(heard))
        if len(heard) == 1:
            raise ValueError(text)
        if len(heard) == 3:
            done.set()

    with app, jmsbridge.connect(url, telemetry=True) as connection:
        producer = connection.create_session().create_producer(QUEUE)
        producer.send("a")
        producer.send("b")
        assert done.wait(10)
    sent = [span.context.span_id for span in named(spans, "send orders") if span.context]
    processed = named(spans, "process orders")
    assert sorted(span.parent.span_id for span in processed if span.parent) == sorted([sent[0], *sent])
    assert [span.status.status_code for span in processed].count(StatusCode.ERROR) == 1
    ids = [span.context.span_id for span in processed if span.context]
    assert sorted(span.parent.span_id for span in named(spans, "inner") if span.parent) == sorted(ids)


def test_an_async_listener_that_cannot_take_a_message(url: str, spans: InMemorySpanExporter) -> None:
    app = App(url, telemetry=True)

    @app.listener("orders")
    async def on_order(number: int) -> None:
        raise AssertionError(number)

    with app, jmsbridge.context(url) as context:
        context.create_producer().send(QUEUE, "no JSON")
        assert context.create_consumer(Queue("DLQ")).receive(timeout=5) is not None
    (process,) = named(spans, "process orders")
    assert process.status.status_code == StatusCode.ERROR
    assert attributes(process)["error.type"] == "ConversionException"
