"""Links that were opened and closed, in whatever way, leave no thread, no socket and no memory (issue 17)."""

from collections.abc import Callable

import pytest

from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind

Run = Callable[..., str]

COUNTING = """
import logging
import resource

logging.disable(logging.CRITICAL)

def count(expected=None):
    for number in range(100):
        gc.collect()
        found = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        if expected is None and number > 5:
            return found
        if expected is not None and found[0] <= expected[0] and found[1] <= expected[1]:
            return True
        time.sleep(0.1)
    return found, expected

def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20

def use():
    with jmsbridge.connect(url) as connection:
        connection.start()
        session = connection.create_session()
        producer, consumer = session.create_producer(Queue("q")), session.create_consumer(Queue("q"))
        producer.send("text")
        consumer.receive(timeout=5)

use()
before = count()
"""

pytestmark = pytest.mark.skipif("not __import__('os').path.isdir('/proc/self/task')", reason="counts as Linux shows it")


@pytest.mark.parametrize("times", [150, pytest.param(3000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_closed_connections_leave_nothing(server: Server, run: Run, times: int) -> None:
    output = run(
        COUNTING
        + f"""
for number in range({times}):
    use()
    if number == {times // 3}:
        held = memory()
print(count(before), memory() - held < 30 or memory() - held)
""",
        timeout=20 + times / 5,
    )
    assert output == "True True\n"


def test_closed_consumers_of_topics_leave_nothing(server: Server, run: Run) -> None:
    """The library keeps the callback of a reader as long as the reader."""
    output = run(
        COUNTING
        + """
for number in range(10):
    with jmsbridge.connect(url) as connection:
        connection.start()
        connection.create_session().create_consumer(jmsbridge.Topic("t"))
print(count(before))
"""
    )
    assert output == "True\n"


def test_lost_connections_leave_nothing(server: Server, run: Run) -> None:
    """Each is cut with a send under way and messages that nobody has acknowledged."""

    def cut(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SEND and b"last words" in heard.payload:
            for each in list(server.lines):
                if not each.ended.is_set():
                    each.cut()
        else:
            answer(line, heard)

    server.heard = cut
    output = run(
        COUNTING
        + """
for number in range(60):
    connection = jmsbridge.connect(url + "&reconnect_attempts=0")
    connection.start()
    session = connection.create_session(session_mode=Session.CLIENT_ACKNOWLEDGE)
    producer, consumer = session.create_producer(Queue("q")), session.create_consumer(Queue("q"))
    producer.send("text")
    assert consumer.receive(timeout=5) is not None
    try:
        producer.send("last words")
    except JMSException:
        pass
    connection.close()
del connection, session, producer, consumer
print(count(before))
"""
    )
    assert output == "True\n"


@pytest.mark.parametrize("code", [3, 6])
def test_refused_connections_leave_nothing(server: Server, run: Run, code: int) -> None:
    def refuse(line: Line, heard: Command) -> None:
        if heard.kind == Kind.CONNECT and len(server.lines) > 2:
            line.write(Kind.ERROR, f1=(1 << 64) - 1, f2=code, f3="no")
        else:
            answer(line, heard)

    server.heard = refuse
    output = run(
        COUNTING
        + """
refused = 0
for number in range(60):
    try:
        jmsbridge.connect(url)
    except JMSException:
        refused += 1
print(refused, count(before))
"""
    )
    assert output == "60 True\n"


def test_collected_connections_leave_nothing(server: Server, run: Run) -> None:
    """Nobody closes them."""
    output = run(
        COUNTING
        + """
import warnings

warnings.simplefilter("ignore")
for number in range(30):
    connection = jmsbridge.connect(url)
    connection.start()
    consumer = connection.create_session().create_consumer(Queue("q"))
    del connection, consumer
print(count(before))
"""
    )
    assert output == "True\n"


def test_many_producers_and_consumers_of_one_connection_leave_nothing(server: Server, run: Run) -> None:
    output = run(
        COUNTING
        + """
connection = jmsbridge.connect(url)
connection.start()
for number in range(120):
    session = connection.create_session()
    session.create_producer(Queue(f"q{number}")).send("text")
    consumer = session.create_consumer(Queue(f"q{number}"))
    assert consumer.receive(timeout=5) is not None
    session.close()
    if number == 20:
        before = count()
print(count(before))
connection.close()
"""
    )
    assert output == "True\n"


def test_closed_consumers_of_an_open_connection_leave_no_objects(server: Server, run: Run) -> None:
    output = run(
        COUNTING
        + """
connection = jmsbridge.connect(url)
connection.start()
session = connection.create_session()
topic = jmsbridge.Topic("t")

def consume():
    for make in (lambda: session.create_consumer(Queue("q")), lambda: session.create_consumer(topic)):
        with make() as consumer:
            consumer.receive(timeout=0)

def objects():
    gc.collect()
    return len(gc.get_objects())

for number in range(40):
    consume()
    if number == 10:
        held = objects()
print(objects() - held < 300 or objects() - held)
connection.close()
"""
    )
    assert output == "True\n"


def test_a_closed_consumer_keeps_nothing_of_its_connection(server: Server, run: Run) -> None:
    """Neither a thread nor a socket of the library, though the application still refers to it."""
    output = run(
        COUNTING
        + """
connection = jmsbridge.connect(url)
connection.start()
consumer = connection.create_session().create_consumer(jmsbridge.Topic("t"))
consumer.close()
connection.close()
print(count(before))
"""
    )
    assert output == "True\n"
