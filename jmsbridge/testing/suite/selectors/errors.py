"""Selectors that are refused, when they are refused, and with which exception (section 3.8)."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from jmsbridge import (
    Destination,
    InvalidDestinationException,
    InvalidDestinationRuntimeException,
    InvalidSelectorException,
    InvalidSelectorRuntimeException,
    JMSContext,
    Queue,
    Session,
    Topic,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import receive_texts, send_texts

BAD = "colour = 'red' AND"
NOTHING = cast(Any, None)


def accepted(session: Session, destination: Destination, *selectors: str) -> list[str]:
    """Those of these selectors that ``create_consumer`` did not refuse with InvalidSelectorException."""
    taken = []
    for selector in selectors:
        try:
            session.create_consumer(destination, selector).close()
        except InvalidSelectorException:
            continue  # refused, as expected
        taken.append(selector)
    return taken


@rule("SE-2")
@pytest.mark.parametrize(
    "create",
    [
        pytest.param(lambda s, q, t: s.create_consumer(q, BAD), id="queue-consumer"),
        pytest.param(lambda s, q, t: s.create_consumer(t, BAD), id="topic-consumer"),
        pytest.param(lambda s, q, t: s.create_browser(q, BAD), id="browser"),
        pytest.param(lambda s, q, t: s.create_durable_consumer(t, "sub", BAD), id="durable-consumer"),
        pytest.param(lambda s, q, t: s.create_durable_subscriber(t, "sub", BAD), id="durable-subscriber"),
        pytest.param(lambda s, q, t: s.create_shared_consumer(t, "sub", BAD), id="shared-consumer"),
        pytest.param(lambda s, q, t: s.create_shared_durable_consumer(t, "sub", BAD), id="shared-durable-consumer"),
    ],
)
def test_selerr_checked_at_creation(
    harness: Harness, queue: Queue, topic: Topic, create: Callable[[Session, Queue, Topic], object]
) -> None:
    """Every way to name a selector refuses a bad one at that call, whatever the broker can do."""
    session = harness.connect(client_id=harness.name("client")).create_session()
    with pytest.raises(InvalidSelectorException):
        create(session, queue, topic)


@rule("SE-2")
@pytest.mark.parametrize(
    "create",
    [
        pytest.param(lambda c, q, t: c.create_consumer(q, BAD), id="queue-consumer"),
        pytest.param(lambda c, q, t: c.create_browser(q, BAD), id="browser"),
        pytest.param(lambda c, q, t: c.create_durable_consumer(t, "sub", BAD), id="durable-consumer"),
        pytest.param(lambda c, q, t: c.create_shared_consumer(t, "sub", BAD), id="shared-consumer"),
        pytest.param(lambda c, q, t: c.create_shared_durable_consumer(t, "sub", BAD), id="shared-durable-consumer"),
    ],
)
def test_selerr_checked_at_creation_by_context(
    harness: Harness, queue: Queue, topic: Topic, create: Callable[[JMSContext, Queue, Topic], object]
) -> None:
    context = harness.context(client_id=harness.name("client"))
    with pytest.raises(InvalidSelectorRuntimeException):
        create(context, queue, topic)


@rule("SE-2")
def test_selerr_trailing_or_missing_text(session: Session, queue: Queue) -> None:
    """Text after a complete expression is an error, and so is an incomplete expression."""
    wrong = ("a = 1 b", "a = 1)", "a = 1 = 2", "(a = 1", "a = 1;", "a =", "AND a = 1", "a = 'x", "   =")
    assert accepted(session, queue, *wrong) == []


@rule("SE-3")
@pytest.mark.parametrize("selector", [None, BAD])
def test_selerr_missing_destination_comes_first(harness: Harness, selector: str | None) -> None:
    """None as destination is InvalidDestination before the selector, or what the broker can do, is looked at."""
    session = harness.connect(client_id=harness.name("client")).create_session()
    with pytest.raises(InvalidDestinationException):
        session.create_consumer(NOTHING, selector)
    with pytest.raises(InvalidDestinationException):
        session.create_browser(NOTHING, selector)
    with pytest.raises(InvalidDestinationException):
        session.create_durable_consumer(NOTHING, "sub", selector)
    with pytest.raises(InvalidDestinationException):
        session.create_durable_subscriber(NOTHING, "sub", selector)
    with pytest.raises(InvalidDestinationException):
        session.create_shared_consumer(NOTHING, "sub", selector)
    with pytest.raises(InvalidDestinationException):
        session.create_shared_durable_consumer(NOTHING, "sub", selector)


@rule("SE-3")
def test_selerr_missing_destination_comes_first_by_context(harness: Harness) -> None:
    context = harness.context(client_id=harness.name("client"))
    with pytest.raises(InvalidDestinationRuntimeException):
        context.create_consumer(NOTHING)
    with pytest.raises(InvalidDestinationRuntimeException):
        context.create_browser(NOTHING)
    with pytest.raises(InvalidDestinationRuntimeException):
        context.create_durable_consumer(NOTHING, "sub")
    with pytest.raises(InvalidDestinationRuntimeException):
        context.create_shared_consumer(NOTHING, "sub")
    with pytest.raises(InvalidDestinationRuntimeException):
        context.create_shared_durable_consumer(NOTHING, "sub")


@rule("SE-4")
def test_selerr_double_quoted_strings(session: Session, queue: Queue) -> None:
    assert accepted(session, queue, 'colour = "red"', "colour = `red`", "colour = 'it's'") == []


@rule("SE-5")
def test_selerr_numbers_beyond_long(session: Session, queue: Queue) -> None:
    beyond = ("9223372036854775808", "99999999999999999999L", "0x1ffffffffffffffff", "-9223372036854775809")
    assert accepted(session, queue, *(f"n = {number}" for number in beyond)) == []


@rule("SE-7")
def test_selerr_identifiers(session: Session, queue: Queue) -> None:
    """Reserved words in any case, a digit or sign at the start, and dots make no identifier."""
    reserved = ("NULL", "not", "And", "OR", "Between", "LIKE", "in", "Is", "escape")
    assert accepted(session, queue, *(f"{word} = 'x'" for word in reserved)) == []
    assert accepted(session, queue, "true IS NULL", "False IN ('x')", "TRUE LIKE 'x'") == []
    assert accepted(session, queue, "1x = 1", "%x = 1", "#x = 1", "a.b = 1", "@a = 1", "a:b = 1") == []


@rule("SE-9")
def test_selerr_comments(session: Session, queue: Queue) -> None:
    assert accepted(session, queue, "a = 1 /* one */", "/* one */ a = 1", "a = 1 // one", "a = 1 # one") == []


@rule("SE-13")
def test_selerr_ordering_of_visible_strings_and_booleans(session: Session, queue: Queue) -> None:
    wrong = ("p > 'x'", "p >= 'x'", "'x' < p", "'x' < TRUE", "TRUE > 0", "p <= TRUE", "FALSE >= p")
    assert accepted(session, queue, *wrong) == []


@rule("SE-14")
def test_selerr_statically_ill_typed(session: Session, queue: Queue) -> None:
    wrong = (
        "p BETWEEN 'a' AND 'b'",
        "p NOT BETWEEN 'a' AND 'b'",
        "p IN (1, 2)",
        "p NOT IN (1, 2, 3)",
        "p IN ()",
        "p IN ('a', )",
        "p LIKE 7",
        "p NOT LIKE TRUE",
        "NULL = 0",
        "p = NULL",
        "=X 'y'",
        "p LIKE 'a' ESCAPE ''",
        "p LIKE 'a' ESCAPE 'xy'",
        "'x' IN ('x')",
        "7 IS NULL",
        "'a' LIKE 'a'",
    )
    assert accepted(session, queue, *wrong) == []


@rule("SE-15")
def test_selerr_boolean_compared_with_number_literal(session: Session, queue: Queue) -> None:
    assert accepted(session, queue, "TRUE = 0", "FALSE = 0", "0 = FALSE") == []


@pitfall(39)
def test_selerr_leaves_the_session_usable(harness: Harness, queue: Queue) -> None:
    """The error belongs to the call: nothing reaches the exception listener, and no half-made consumer stays."""
    connection = harness.connect()
    reported: list[Exception] = []
    connection.exception_listener = reported.append
    session = connection.create_session()
    for selector in (BAD, "a = 1 b", "p > 'x'", "TRUE = 0"):
        with pytest.raises(InvalidSelectorException):
            session.create_consumer(queue, selector)
    send_texts(session, queue, "still here")
    assert receive_texts(session.create_consumer(queue), 1) == ["still here"]
    assert reported == []


@pitfall(39)
@rule("SE-1")
@requires(Native.DURABLE)
def test_selerr_empty_and_none_are_one_durable_subscription(harness: Harness, topic: Topic) -> None:
    """'' is not stored as a filter: resuming with None is no change of the selector, so the backlog stays."""
    session = harness.connect(client_id=harness.name("client")).create_session()
    name = harness.name("sub")
    with session.create_durable_consumer(topic, name, "") as consumer:
        assert consumer.message_selector is None
    send_texts(session, topic, "kept")
    with session.create_durable_consumer(topic, name, None) as consumer:
        assert receive_texts(consumer, 1) == ["kept"]
    session.unsubscribe(name)
