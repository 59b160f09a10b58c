"""After a fork every link of the child is lost and raises errors that say so."""

import os
import signal
from pathlib import Path

import jmsbridge
from jmsbridge import JMSError
from jmsbridge.testing.suite.support import text_of

PATIENCE = 20


def _in_child(report: Path, connection: jmsbridge.Connection, consumer: jmsbridge.MessageConsumer) -> None:
    signal.alarm(PATIENCE)  # a child that hangs is a failure
    said = []
    session = consumer._core
    producer = jmsbridge.MessageProducer(session, jmsbridge.Queue("forked"))
    for use in (lambda: producer.send("text"), lambda: consumer.receive(timeout=1), connection.create_session):
        try:
            use()
            said.append("worked")
        except JMSError as error:
            said.append(str(error))
    connection.close()
    report.write_text("\n".join(said))


def test_child_of_a_fork_fails_fast(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with jmsbridge.connect("embedded:?broker=fork") as connection:
        connection.start()
        session = connection.create_session()
        consumer = session.create_consumer(session.create_queue("forked"))
        child = os.fork()
        if not child:
            try:
                _in_child(report, connection, consumer)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        said = report.read_text().splitlines()
        assert len(said) == 3
        assert all("another process" in line for line in said)
        session.create_producer(session.create_queue("forked")).send("still here")
        assert text_of(consumer.receive(timeout=5)) == "still here"
