"""Programs as users write them pass mypy strict without Any, and run; wrong ones do not pass.

``make check`` reads ``tests/typing/programs`` with ``disallow_any_expr``.
"""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import jmsbridge_embedded
from tools.laws.source import ROOT

PROGRAMS: dict[str, list[object]] = {
    "orders": ["thank you for two of everything"],
    "simplified": ["text", b"bytes", ["count", "name"], [1, "two", {"three": 3.0}], None, "a", "b"],
    "listening": ["a", "b", "c"],
    "kinds": ["text", "count=Int(3), price=Double(9.5)", "1 one", "Double(1.5)", "nothing", "2 of them"],
    "applications": [7, 0, "closed"],
    "asking": ["42", "odd", "a,b 1"],
    "tasks": ["0", "1", "2", "heard", "re: ping"],
}

WRONG = """
import jmsbridge
from jmsbridge import Connection, JMSContext, JMSException, Message, Queue, Session, TextMessage

def wrong(connection: Connection, session: Session, context: JMSContext, queue: Queue, message: TextMessage) -> None:
    consumer, producer = session.create_consumer(queue), session.create_producer(queue)
    simple = context.create_producer()
    consumer.receive(timeout=1).text  # union-attr
    consumer.receive(5000)  # arg-type
    consumer.receive_no_wait().jms_type  # union-attr
    consumer.messageListener = print  # attr-defined
    consumer.message_listener = 5  # assignment
    consumer.message_listener = takes_text  # assignment
    connection.exceptionListener = print  # attr-defined
    connection.exception_listener = takes_text  # assignment
    connection.create_session(session.AUTO_ACKNOWLEDGE, session.CLIENT_ACKNOWLEDGE)  # call-overload
    connection.create_session("AUTO_ACKNOWLEDGE")  # call-overload
    connection.createSession()  # attr-defined
    producer.send(message, 2, 4, 5000)  # call-overload
    producer.send(5)  # call-overload
    producer.send("x", time_to_live="5")  # call-overload
    producer.send("x", completion_listener=print_one)  # arg-type
    producer.send(message.jms_reply_to, message)  # arg-type
    producer.timeToLive = 5  # attr-defined
    simple.send(queue, None)  # arg-type
    simple.set_property("list", [1])  # arg-type
    session.create_durable_consumer(queue, "name")  # arg-type
    session.create_queue(5)  # arg-type
    session.AUTO_ACKNOWLEDGE = 3  # misc
    message.setText("x")  # attr-defined
    message.text = b"x"  # assignment
    number: int = message.get_object_property("n")  # assignment
    text: str = message.get_body(str)  # assignment
    body: str = context.create_consumer(queue).receive_body(bytes)  # assignment
    for each in consumer:
        each.text  # attr-defined
    jmsbridge.context("user", "password")  # arg-type
    context.create_context("user", "password", 1)  # call-arg
    connection.admin.list_destinations()  # attr-defined

def takes_text(message: TextMessage) -> None: ...
def print_one(message: Message) -> None: ...
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs(name: str) -> None:
    broker = f"typing-{name}"
    try:
        assert import_module(f"tests.typing.programs.{name}").main(f"embedded:?broker={broker}") == PROGRAMS[name]
    finally:
        jmsbridge_embedded.discard(broker)


def test_every_program_is_run() -> None:
    assert {path.stem for path in (ROOT / "tests/typing/programs").glob("*.py")} == PROGRAMS.keys()


@pytest.mark.timeout(240)
def test_wrong_programs_do_not_pass(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, str(program)], cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[int, str] = {}
    for line, code in re.findall(r"wrong\.py:(\d+): error: .*\[([\w-]+)\]", done.stdout):
        found.setdefault(int(line), code)
    marked = re.compile(r"  # ([\w-]+)$")
    expected = {
        number: match[1]
        for number, line in enumerate(WRONG.splitlines(), 1)
        if (match := marked.search(line)) is not None
    }
    assert found == expected, done.stdout + done.stderr
