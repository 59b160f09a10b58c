"""A trace that goes on from Python to a Java program with OpenTelemetry's agent, and from there to Python."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import jmsbridge
from integration.interop.program import Running
from integration.lab.broker import Broker
from integration.lab.fetching.java import java
from integration.lab.fetching.programs import compiled, jars
from integration.lab.table import HOST, PASSWORD, USER

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.server]
_HERE = Path(__file__).resolve().parent / "java_agent"
_OFF = [f"-Dotel.{what}.exporter=none" for what in ("traces", "metrics", "logs")]


def command(*arguments: str) -> list[str]:
    """How to run the Java program under the agent."""
    libraries = jars("telemetry", _HERE / "pom.xml")
    source = _HERE / "Forward.java"
    classes = compiled("telemetry", libraries, [(source.name, source.read_text(encoding="utf-8"))])
    agent = next(libraries.glob("opentelemetry-javaagent-*.jar"))
    others = [str(jar) for jar in libraries.glob("*.jar") if jar != agent]
    settings = [f"-javaagent:{agent}", *_OFF, "-Dotel.javaagent.logging=none", "-Xmx256m", "-XX:TieredStopAtLevel=1"]
    return [java(), *settings, "-cp", os.pathsep.join([str(classes), *others]), "Forward", *arguments]


def test_a_trace_goes_on_in_both_directions(artemis: Broker) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    there, back = "traced-there", "traced-back"
    arrived = threading.Event()
    seen: list[dict[str, Any]] = []

    def listener(message: jmsbridge.Message) -> None:
        seen.append(dict(message.properties))
        arrived.set()

    address = f"amqp://{HOST}:{artemis.ports['amqp']}"
    with (
        jmsbridge.connect(artemis.url("amqp"), telemetry=True) as connection,
        Running(command(address, USER, PASSWORD, there, back)) as forwarding,
    ):
        session = connection.create_session()
        session.create_consumer(session.create_queue(back)).message_listener = listener
        connection.start()
        assert forwarding.line() == "ready"
        with connection.create_session() as sender:
            sender.create_producer(sender.create_queue(there)).send("one")
        assert arrived.wait(60)
    finished = {span.name.split()[0]: span for span in spans.get_finished_spans()}
    send, process = finished["send"], finished["process"]
    assert process.context.trace_id == send.context.trace_id  # Java's agent read our context, and we read its own
    assert process.parent is not None
    assert process.parent.span_id != send.context.span_id
    assert format(process.parent.span_id, "016x") in seen[0]["traceparent"]
