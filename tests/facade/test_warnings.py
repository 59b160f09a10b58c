"""A warning points to the line of the application that caused it."""

import contextlib
import functools
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import jmsbridge
from jmsbridge import SESSION_TRANSACTED, Connection, EmulationWarning, Message
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.warning import warn
from jmsbridge.testing.suite.support import LONG, eventually, send_texts
from tests.core.emulation.support import QUEUE, Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker without transactions, selectors and browsers."""
    with Broker() as made:
        yield made


def line_of(text: str) -> int:
    """The number of the one line of this file that ends with a mark."""
    with open(__file__, encoding="utf-8") as lines:
        (found,) = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {text}")]
    return found


def where(caught: list[warnings.WarningMessage]) -> list[tuple[str, int]]:
    """Files and lines of the warnings, each once: a transacted session may cause one for each feature that it needs."""
    return list(dict.fromkeys((each.filename, each.lineno) for each in caught))


def test_a_session_of_the_classic_api(broker: Broker) -> None:
    connection = broker.connect()
    with pytest.warns(EmulationWarning, match="transaction") as caught:
        connection.create_session(SESSION_TRANSACTED)  # classic
    assert where(list(caught)) == [(__file__, line_of("classic"))]


def test_a_context_of_the_simplified_api(broker: Broker) -> None:
    with (
        pytest.warns(EmulationWarning, match="transaction") as caught,
        jmsbridge.context(  # simplified
            f"{broker.name}:?broker={broker.name}", SESSION_TRANSACTED
        ),
    ):
        pass
    assert where(list(caught)) == [(__file__, line_of("simplified"))]


def test_a_selector(broker: Broker) -> None:
    session = broker.session()
    with pytest.warns(EmulationWarning) as caught:
        session.create_consumer(QUEUE, "colour = 'red'")  # selector
    assert where(list(caught)) == [(__file__, line_of("selector"))]


def test_a_browser(broker: Broker) -> None:
    session = broker.session()
    with pytest.warns(EmulationWarning) as caught:
        session.create_browser(QUEUE)  # browser
    assert where(list(caught)) == [(__file__, line_of("browser"))]


def test_frames_of_the_standard_library_are_not_the_caller(broker: Broker) -> None:
    connection = broker.connect()
    make = functools.partial(connection.create_session, SESSION_TRANSACTED)
    with pytest.warns(EmulationWarning) as caught, contextlib.closing(make()):  # between
        pass
    assert where(list(caught)) == [(__file__, line_of("between"))]


def test_a_listener_of_the_application_is_a_caller(broker: Broker) -> None:
    connection = broker.connect()
    session = connection.create_session()
    done = threading.Event()
    other = connection.create_session()

    def listener(message: Message) -> None:
        other.create_browser(QUEUE)  # listener
        done.set()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session.create_consumer(QUEUE).message_listener = listener
        send_texts(connection.create_session(), QUEUE, "x")
        assert done.wait(LONG)
    assert where(caught) == [(__file__, line_of("listener"))]


def test_on_a_thread_of_the_library_no_line_is_named() -> None:
    lane = SerialExecutor("jmsbridge-test-thread", functools.partial(warn, "a text", EmulationWarning))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lane.wake()
        eventually(lambda: caught)
    lane.close()
    (only,) = caught
    assert only.filename == "<jmsbridge-test-thread>"
    assert str(only.message) == "a text (found on the thread jmsbridge-test-thread)"


def test_a_pool_of_the_application_is_named_by_its_thread(broker: Broker) -> None:
    connection: Connection = broker.connect()
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(1, "pool") as pool:
        warnings.simplefilter("always")
        pool.submit(connection.create_session, SESSION_TRANSACTED).result(LONG).close()
    assert {only.filename for only in caught} == {"<pool_0>"}
