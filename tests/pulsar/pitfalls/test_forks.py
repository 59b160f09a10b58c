"""A process that has connections forks: what it inherits would hang it, and a new connection works (issue 17)."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from jmsbridge.testing.suite.support import eventually
from tests.pulsar.pitfalls.test_exit import RECEIVING, STARTING
from tests.pulsar.server.server import Server

if TYPE_CHECKING:
    from tests.pulsar.pitfalls.conftest import Program

Run = Callable[[str], str]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

FORKING = (
    RECEIVING
    + """
import warnings

warnings.filterwarnings("ignore", "This process", DeprecationWarning)  # 3.12 and later: of every fork with threads

def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except SystemExit as error:
            status = error.code or 0
        finally:
            sys.stdout.flush()
            if status != 5:
                os._exit(status)
        sys.exit(0)  # as a program ends that knows nothing of the fork
    for _ in range(1000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"

def fresh():
    with jmsbridge.connect(url) as there:
        there.start()
        here = there.create_session()
        here.create_producer(Queue("other")).send("of the child")
        print(here.create_consumer(Queue("other")).receive(timeout=5).get_body(str))

consumer.receive(timeout=5)
"""
)


def test_a_fresh_connection_in_the_child(server: Server, run: Run) -> None:
    output = run(
        FORKING + "print(in_child(fresh)); producer.send('of the parent'); print(consumer.receive().get_body(str))"
    )
    assert output == "of the child\n0\n1\n"


def test_the_child_ends_as_a_program_ends(server: Server, run: Run) -> None:
    """With the destructors of all that it has inherited."""
    output = run(FORKING + "print(in_child(lambda: sys.exit(5))); producer.send('x'); connection.close()")
    assert output == "0\n"


def test_the_child_uses_what_it_has_inherited(server: Server, run: Run) -> None:
    output = run(
        FORKING
        + """
def use():
    for call in (lambda: producer.send("x"), lambda: consumer.receive(timeout=1), connection.create_session):
        try:
            call()
        except JMSException:
            print("refused")

print(in_child(use))
producer.send("x")
"""
    )
    assert output == "refused\nrefused\nrefused\n0\n"


def test_the_child_drops_what_it_has_inherited(server: Server, run: Run) -> None:
    output = run(
        FORKING
        + """
def drop():
    global connection, session, producer, receiving, consumer
    for close in (consumer.close, session.close, connection.close):
        close()
    del connection, session, producer, receiving, consumer
    gc.collect()
    fresh()
    sys.exit(5)

print(in_child(drop))
producer.send("x")
"""
    )
    assert output == "of the child\n0\n"


def test_forks_while_threads_send_and_receive(server: Server, run: Run) -> None:
    output = run(
        FORKING
        + """
ended = threading.Event()

def work(number):
    here = connection.create_session()
    there, consumer = here.create_producer(Queue(f"q{number}")), here.create_consumer(Queue(f"q{number}"))
    while not ended.is_set():
        there.send("text")
        consumer.receive()

threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
print([in_child(fresh if number % 2 else lambda: sys.exit(5)) for number in range(8)])
ended.set()
for thread in threads:
    thread.join()
"""
    )
    assert output == "of the child\n" * 4 + "[0, 0, 0, 0, 0, 0, 0, 0]\n"


def test_a_child_that_outlives_its_parent(server: Server, start: "Callable[[str], Program]") -> None:
    """The broker sees the parent's end at once, and so does the library in the parent."""
    program = start(
        FORKING
        + """
if os.fork() == 0:
    sys.stdin.read()
    fresh()
"""
    )
    assert program.process.wait(2 * STARTING) == 0  # most of it for the program to start
    eventually(lambda: all(line.ended.is_set() for line in server.lines), STARTING)
    assert program.end() == (0, "of the child\n", "")


def test_multiprocessing_by_fork(server: Server, run: Run) -> None:
    output = run(
        FORKING
        + """
import multiprocessing

forking = multiprocessing.get_context("fork")
children = [forking.Process(target=fresh) for _ in range(3)]
for child in children:
    child.start()
for child in children:
    child.join(20)
print([child.exitcode for child in children])
producer.send("x")
"""
    )
    assert sorted(output.splitlines()) == ["[0, 0, 0]", "of the child", "of the child", "of the child"]


def test_a_fork_while_another_thread_acknowledges(server: Server, run: Run) -> None:
    """The locks that all connections of the process share were never released in the child."""
    output = run(
        FORKING
        + """
import threading
from jmsbridge_pulsar.receiving import memory, resuming

def hold(lock, is_held):
    with lock:
        is_held.set()
        time.sleep(0.5)  # sleep: the fork begins in this time

for lock in (memory._lock, resuming._lock):
    is_held = threading.Event()
    thread = threading.Thread(target=hold, args=(lock, is_held))
    thread.start()
    is_held.wait()
    print(in_child(lambda: sys.exit(not lock.acquire(timeout=3))), lock.acquire(timeout=3))
    lock.release()
    thread.join()
"""
    )
    assert output == "0 True\n0 True\n"
