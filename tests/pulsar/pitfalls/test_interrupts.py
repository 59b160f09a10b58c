"""Ctrl-C while a call waits for the broker: it ends at once, and the connection still works or closes (issue 17)."""

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from jmsbridge.testing.suite.support import eventually
from tests.pulsar.pitfalls.test_exit import SENDING, STARTING, no_receipts
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Server
from tests.pulsar.server.wire import Kind

if TYPE_CHECKING:
    from tests.pulsar.pitfalls.conftest import Program

Start = Callable[[str], "Program"]


def _interrupt(program: "Program") -> None:
    program.process.send_signal(signal.SIGINT)


def test_while_it_connects(server: Server, start: Start) -> None:
    """A link that nobody waits for any more is closed when it is there."""
    server.heard = lambda line, heard: None
    program = start(
        """
try:
    jmsbridge.connect(url + "&connect_timeout=60")
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
with jmsbridge.connect(url) as connection:
    connection.create_session().create_producer(Queue("q")).send("text")
print([each.name for each in threading.enumerate() if "pulsar" in each.name])
"""
    )
    eventually(lambda: server.heard_of(Kind.CONNECT), STARTING)
    _interrupt(program)
    assert program.line() == "interrupted"
    server.heard = answer
    (line,) = server.lines
    answer(line, line.commands[0])
    assert line.ended.wait(STARTING)
    assert program.end() == (0, "[]\n", "")


def test_while_it_sends(server: Server, start: Start) -> None:
    server.heard = no_receipts
    program = start(
        SENDING
        + """
producer.send("first")
try:
    producer.send("second")
except KeyboardInterrupt:
    print("interrupted", flush=True)
began = time.monotonic()
connection.close()
print(time.monotonic() - began < 10)
"""
    )
    eventually(lambda: len(server.heard_of(Kind.SEND)) == 2, STARTING)
    _interrupt(program)
    assert program.line() == "interrupted"
    assert program.end() == (0, "True\n", "")


@pytest.mark.parametrize("call", ["receive()", "receive(timeout=20)"])
def test_while_it_receives_no_message_is_lost(server: Server, start: Start, call: str) -> None:
    """The library's own ``receive`` would take the next message and show it to nobody."""
    program = start(
        SENDING
        + f"""
connection.start()
consumer = connection.create_session().create_consumer(Queue("q"))
try:
    print("waiting", flush=True)
    consumer.{call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
for number in range(3):
    producer.send(str(number))
print([consumer.receive(timeout=5).get_body(str) for number in range(3)])
connection.close()
"""
    )
    assert program.line() == "waiting"
    eventually(lambda: server.heard_of(Kind.FLOW), STARTING)
    _interrupt(program)
    assert program.line() == "interrupted"
    assert program.end() == (0, "['0', '1', '2']\n", "")


def test_without_a_handler_it_ends_the_program(server: Server, start: Start) -> None:
    program = start(
        SENDING
        + """
connection.start()
consumer = connection.create_session().create_consumer(Queue("q"))
print("waiting", flush=True)
consumer.receive()
"""
    )
    assert program.line() == "waiting"
    eventually(lambda: server.heard_of(Kind.FLOW), STARTING)
    _interrupt(program)
    code, output, errors = program.end()
    assert (code, output) == (-signal.SIGINT, "")
    assert errors.endswith("KeyboardInterrupt\n")
    assert "terminate" not in errors


_INTERRUPTED = """
import random

class Interrupted(Exception):
    pass

def interrupt(*_):
    raise Interrupted

signal.signal(signal.SIGALRM, interrupt)
dice = random.Random(int(time.time()))
count = 0

def during(call):
    global count
    try:
        signal.setitimer(signal.ITIMER_REAL, dice.choice([1e-5, 1e-4, 1e-3, 1e-2]) * (dice.random() + 0.01))
        try:
            return call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted:
        count += 1

def surely(call):
    while True:
        try:
            return call()
        except Interrupted:  # that of a call before this one, which has returned its message
            pass

connection = jmsbridge.connect(url)
connection.start()
session = connection.create_session(session_mode=Session.CLIENT_ACKNOWLEDGE)
producer, consumer = session.create_producer(Queue("q")), session.create_consumer(Queue("q"))
sent, received = set(), set()
for number in range(400):
    during(lambda: (producer.send(str(number)), sent.add(str(number))))
    interrupted = count
    message = during(lambda: consumer.receive(timeout=1))
    if message is not None:
        received.add(message.get_body(str))
        during(message.acknowledge)
    elif count > interrupted:
        surely(session.recover)  # the call may have taken one
until = time.monotonic() + 30
while sent - received and time.monotonic() < until:
    message = surely(lambda: consumer.receive(timeout=1))
    if message is not None:
        received.add(message.get_body(str))
during(connection.close)
connection.close()
print(count > 100, sent - received)
"""


@pytest.mark.parametrize("times", range(2))
def test_at_any_moment(server: Server, start: Start, times: int) -> None:
    """Interrupts by a timer, in all of the calls: nothing hangs, and no message is lost."""
    program = start(_INTERRUPTED)
    assert program.end(60) == (0, "True set()\n", "")
