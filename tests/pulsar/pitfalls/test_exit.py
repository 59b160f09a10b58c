"""Python ends while the library is at work: the library alone would abort the process (issue 17)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from jmsbridge.testing.suite.support import eventually
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind

if TYPE_CHECKING:
    from tests.pulsar.pitfalls.conftest import Program

Run = Callable[[str], str]

STARTING = 20.0
"""Seconds for a program to start, on a busy machine."""

SENDING = """
connection = jmsbridge.connect(url)
session = connection.create_session()
producer = session.create_producer(Queue("q"))
"""

RECEIVING = (
    SENDING
    + """
for number in range(300):
    producer.send(str(number))
connection.start()
receiving = connection.create_session(session_mode=Session.CLIENT_ACKNOWLEDGE)
consumer = receiving.create_consumer(Queue("q"))
"""
)


def no_receipts(line: Line, heard: Command) -> None:
    """The first message gets one."""
    if heard.kind != Kind.SEND or len(line.heard(Kind.SEND)) == 1:
        answer(line, heard)


@pytest.mark.parametrize("times", range(3))
def test_with_sends_under_way(server: Server, run: Run, times: int) -> None:
    server.heard = no_receipts
    run(
        SENDING
        + """
class Quiet:
    def on_completion(self, message): pass
    def on_exception(self, message, error): pass

producer.send("first")
for number in range(500):
    producer.send(session.create_text_message("text"), completion_listener=Quiet())
"""
    )
    assert len(server.heard_of(Kind.SEND)) >= 1


def test_with_an_open_connection(server: Server, run: Run) -> None:
    run(SENDING + "producer.send('text')")
    eventually(lambda: all(line.ended.is_set() for line in server.lines))


def test_with_a_listener_and_a_message_that_nobody_has_acknowledged(server: Server, run: Run) -> None:
    output = run(
        RECEIVING
        + """
came = threading.Event()
consumer.message_listener = lambda message: came.set()
print(came.wait(10))
"""
    )
    assert output == "True\n"


@pytest.mark.parametrize("times", range(3))
def test_while_a_thread_waits_for_a_message(server: Server, run: Run, times: int) -> None:
    run(
        SENDING
        + """
connection.start()
consumer = connection.create_session().create_consumer(Queue("other"))
threading.Thread(target=consumer.receive, daemon=True).start()
time.sleep(0.3)
"""
    )
    assert len(server.heard_of(Kind.SUBSCRIBE)) >= 1


@pytest.mark.parametrize("times", range(5))
def test_while_threads_send_and_acknowledge(server: Server, run: Run, times: int) -> None:
    run(
        SENDING
        + """
def work(number):
    here = connection.create_session(session_mode=Session.CLIENT_ACKNOWLEDGE)
    there = here.create_producer(Queue(f"q{number}"))
    consumer = here.create_consumer(Queue(f"q{number}"))
    try:
        while True:
            there.send("text")
            consumer.receive().acknowledge()
    except (JMSException, AttributeError):  # the connection has ended
        return

connection.start()
for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(0.7)
"""
    )
    assert len(server.heard_of(Kind.ACK)) >= 1


def test_while_a_thread_connects(server: Server, start: "Callable[[str], Program]") -> None:
    server.heard = lambda line, heard: None
    program = start("threading.Thread(target=jmsbridge.connect, args=(url,), daemon=True).start(); sys.stdin.read()")
    eventually(lambda: server.lines, STARTING)
    code, output, errors = program.end()
    assert (code, output) == (0, "")
    assert "terminate" not in errors  # the thread may still say that it was not let in


@pytest.mark.parametrize("times", range(3))
def test_while_a_connection_ends(server: Server, start: "Callable[[str], Program]", times: int) -> None:
    """The broker is gone, and the facade reconnects."""
    program = start(SENDING + "producer.send('text'); print('sent', flush=True); sys.stdin.read()")
    assert program.line() == "sent"
    server.close()
    code, _, errors = program.end()
    assert code == 0, errors
    assert "terminate" not in errors


def test_after_an_uncaught_exception(server: Server, start: "Callable[[str], Program]") -> None:
    code, output, errors = start(
        RECEIVING
        + """
threading.Thread(target=consumer.receive, daemon=True).start()
raise KeyError("mine")
"""
    ).end()
    assert (code, output) == (1, "")
    assert errors.endswith("KeyError: 'mine'\n")
    assert "terminate" not in errors


@pytest.mark.parametrize(
    "ending", ["sys.exit(7)", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", "os._exit(7)"]
)
def test_other_ends(server: Server, start: "Callable[[str], Program]", ending: str) -> None:
    code, output, errors = start(RECEIVING + ending).end()
    assert code in (7, -15)
    assert (output, errors) == ("", "")


@pytest.mark.parametrize("times", range(3))
def test_right_after_close(server: Server, run: Run, times: int) -> None:
    """The library's threads have ended by then."""
    output = run(
        RECEIVING
        + """
consumer.receive(timeout=5)
threads = lambda: len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
before = threads()
connection.close()
print(threads() <= before - 3 or not before)
"""
    )
    assert output == "True\n"
