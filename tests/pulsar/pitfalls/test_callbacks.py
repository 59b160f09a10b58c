"""What applications do in their callbacks, and close while others wait: nothing deadlocks (issue 17)."""

from collections.abc import Callable

from tests.pulsar.pitfalls.test_exit import RECEIVING, SENDING, no_receipts
from tests.pulsar.server.server import Server
from tests.pulsar.server.wire import Kind

Run = Callable[[str], str]


def test_a_listener_that_closes_its_consumer(server: Server, run: Run) -> None:
    output = run(
        RECEIVING
        + """
closed = threading.Event()

def close(message):
    consumer.close()
    closed.set()

consumer.message_listener = close
print(closed.wait(10))
connection.close()
"""
    )
    assert output == "True\n"


def test_a_listener_that_closes_its_session_or_connection(server: Server, run: Run) -> None:
    """Jakarta Messaging forbids it: an error, and no deadlock."""
    output = run(
        RECEIVING
        + """
done = threading.Event()

def close(message):
    if done.is_set():
        return
    for call in (receiving.close, connection.close):
        try:
            call()
            print("closed")
        except JMSException as error:
            print(type(error).__name__)
    done.set()

consumer.message_listener = close
print(done.wait(10))
connection.close()
"""
    )
    assert output == "IllegalStateException\nIllegalStateException\nTrue\n"


def test_a_listener_that_sends_receives_and_makes_consumers(server: Server, run: Run) -> None:
    output = run(
        RECEIVING
        + """
done = threading.Event()
there = connection.create_session()

def work(message):
    if not done.is_set():
        there.create_producer(Queue("new")).send("from the listener")
        print(there.create_consumer(Queue("new")).receive(timeout=5).get_body(str))
        done.set()

consumer.message_listener = work
print(done.wait(10))
connection.close()
"""
    )
    assert output == "from the listener\nTrue\n"


def test_a_listener_that_raises(server: Server, run: Run) -> None:
    """Also what is no Exception: the consumer goes on."""
    output = run(
        RECEIVING
        + """
import logging

logging.disable(logging.CRITICAL)
seen, enough = [], threading.Event()

def fail(message):
    seen.append(message.get_body(str))
    if len(seen) > 5:
        enough.set()
    raise (ValueError, SystemExit, KeyboardInterrupt)[len(seen) % 3]("mine")

consumer.message_listener = fail
print(enough.wait(10))
connection.close()
"""
    )
    assert output == "True\n"


def test_a_completion_listener_that_uses_the_connection(server: Server, run: Run) -> None:
    """From the library's own callback each of these would deadlock."""
    output = run(
        SENDING
        + """
import logging

logging.disable(logging.CRITICAL)
done = threading.Event()
other = connection.create_session()

class Working:
    def on_completion(self, message):
        other.create_producer(Queue("other")).send("from the completion listener")
        try:
            session.close()
        except JMSException as error:
            print(type(error).__name__)
        done.set()
        raise SystemExit("mine")

    def on_exception(self, message, error):
        print(error)

producer.send(session.create_text_message("text"), completion_listener=Working())
print(done.wait(10))
producer.send("more")
connection.close()
"""
    )
    assert output == "IllegalStateException\nTrue\n"
    assert len(server.topic("persistent://public/default/other").entries) == 1


def test_completion_listeners_are_called_before_close_returns(server: Server, run: Run) -> None:
    output = run(
        SENDING
        + """
class Counting:
    count = 0

    def on_completion(self, message):
        Counting.count += 1

    def on_exception(self, message, error):
        print(error)

for number in range(2000):
    producer.send(session.create_text_message(str(number)), completion_listener=Counting())
connection.close()
print(Counting.count)
"""
    )
    assert output == "2000\n"
    entries = server.topic("persistent://public/default/q").entries
    assert sum(entry.messages for entry in entries) == 2000


def test_closing_while_sends_have_no_receipt(server: Server, run: Run) -> None:
    """Close ends in time, and each outcome is told."""
    server.heard = no_receipts
    output = run(
        SENDING
        + """
class Counting:
    outcomes = []

    def on_completion(self, message):
        Counting.outcomes.append("stored")

    def on_exception(self, message, error):
        Counting.outcomes.append(type(error).__name__)

producer.send("first")
for number in range(50):
    producer.send(session.create_text_message(str(number)), completion_listener=Counting())
began = time.monotonic()
connection.close()
print(time.monotonic() - began < 10, len(Counting.outcomes), set(Counting.outcomes))
"""
    )
    assert output == "True 50 {'InDoubtException'}\n"


def test_closing_while_others_wait(server: Server, run: Run) -> None:
    """``receive`` returns None, and a send that waits gets an error."""
    server.heard = no_receipts
    output = run(
        SENDING
        + """
connection.start()
producer.send("first")
results = []
consumers = [connection.create_session().create_consumer(Queue(f"empty{number}")) for number in range(3)]

def receive(consumer, timeout):
    results.append(consumer.receive(timeout=timeout))

def send():
    try:
        producer.send("second")
    except JMSException as error:
        results.append("no answer")

threads = [threading.Thread(target=receive, args=given) for given in zip(consumers, (None, 30, 60))]
threads.append(threading.Thread(target=send))
for thread in threads:
    thread.start()
time.sleep(0.5)
consumers[0].close()
threads[0].join(5)
print(threads[0].is_alive(), results)
connection.close()
for thread in threads:
    thread.join(10)
print(sorted(map(str, results)))
"""
    )
    assert output == "False [None]\n['None', 'None', 'None', 'no answer']\n"


def test_the_broker_ends_the_connection_in_the_midst_of_all(server: Server, run: Run) -> None:
    """Again and again, under listeners and senders: nothing hangs, and what was confirmed is there."""
    output = run(
        """
import logging

logging.disable(logging.CRITICAL)
url += "&reconnect_delay=0.01"
connection = jmsbridge.connect(url)
connection.start()
session = connection.create_session()
consumer = connection.create_session().create_consumer(Queue("q"))
received, confirmed = set(), set()
consumer.message_listener = lambda message: received.add(message.get_body(str))
producer = session.create_producer(Queue("q"))
ended = time.monotonic() + 4
number = 0
while time.monotonic() < ended:
    try:
        producer.send(str(number))
        confirmed.add(str(number))
    except JMSException:
        pass
    number += 1
    if number % 40 == 0:
        print("cut", flush=True)
for _ in range(100):
    if confirmed <= received:
        break
    time.sleep(0.1)
print(len(confirmed) > 100, confirmed - received)
connection.close()
""".replace('print("cut", flush=True)', "session.create_producer(Queue('cut')).send('')")
    )
    assert output == "True set()\n"
    assert len(server.heard_of(Kind.CONNECT)) >= 2
