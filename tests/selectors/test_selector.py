"""A selector as an object: against envelopes, cached, pickled; and the headers it sees."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jmsbridge.selectors import SelectorError, compile_selector, optional_selector
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.testing.marks import rule
from jmsbridge.values import Long


def envelope(properties: dict[str, Any] | None = None, **headers: Any) -> Envelope:
    given = {"message_id": "ID:1", "timestamp": 1_700_000_000_000, **headers}
    return Envelope(Address("q"), BodyKind.TEXT, "body", properties or {}, **given)


@rule("SE-1")
def test_nothing_and_the_empty_text_mean_no_selector() -> None:
    assert optional_selector(None) is None
    assert optional_selector("") is None
    assert optional_selector("a = 1") == compile_selector("a = 1")


@rule("SE-1", "SE-2")
def test_blanks_are_not_the_empty_text() -> None:
    with pytest.raises(SelectorError):
        optional_selector("  ")


@rule("SE-8")
@pytest.mark.parametrize(
    ("condition", "headers"),
    [
        ("JMSDeliveryMode = 'PERSISTENT'", {"persistent": True}),
        ("JMSDeliveryMode = 'NON_PERSISTENT'", {"persistent": False}),
        ("JMSDeliveryMode IN ('PERSISTENT', 'x') AND JMSDeliveryMode LIKE 'P%'", {}),
        ("NOT (JMSDeliveryMode = 2) AND NOT (JMSDeliveryMode <> 2)", {}),
        ("JMSPriority = 4", {}),
        ("JMSPriority > 6 AND JMSPriority BETWEEN 7 AND 9", {"priority": 7}),
        ("JMSMessageID = 'ID:1'", {}),
        ("JMSMessageID IS NULL", {"message_id": None}),
        ("JMSTimestamp = 1700000000000", {}),
        ("JMSTimestamp + 1 > 1700000000000", {}),
        ("JMSCorrelationID = 'order'", {"correlation_id": "order"}),
        ("JMSCorrelationID IS NULL", {}),
        ("JMSCorrelationID IS NULL", {"correlation_id": b"\x01"}),
        ("JMSType LIKE 'car%'", {"jms_type": "cart"}),
        ("JMSType IS NULL", {}),
    ],
)
def test_the_six_headers(condition: str, headers: dict[str, Any]) -> None:
    assert compile_selector(condition).matches_envelope(envelope(**headers))
    assert not compile_selector(f"NOT ({condition})").matches_envelope(envelope(**headers))


@rule("SE-8")
def test_properties_do_not_stand_in_for_headers() -> None:
    message = envelope({"JMSType": "property", "a": 1})
    assert compile_selector("JMSType IS NULL AND a = 1").matches_envelope(message)


@rule("SE-8", "JX-3")
def test_extension_properties_are_found_among_the_properties() -> None:
    message = envelope({"JMSXGroupID": "g", "JMS_acme": Long(3)})
    assert compile_selector("JMSXGroupID = 'g' AND JMS_acme = 3 AND JMSXUserID IS NULL").matches_envelope(message)


@rule("JX-1")
def test_the_delivery_count_is_that_of_this_delivery() -> None:
    message = envelope({"JMSXDeliveryCount": 9})
    selector = compile_selector("JMSXDeliveryCount = 2")
    assert selector.matches_envelope(message, 2)
    assert not selector.matches_envelope(message)


@rule("SE-9")
def test_the_body_cannot_be_named() -> None:
    assert compile_selector("body IS NULL AND text IS NULL").matches_envelope(envelope())


def test_the_attributes_of_a_selector() -> None:
    selector = compile_selector("a = 1 OR JMSType LIKE 'x' OR a IS NULL")
    assert selector.text == str(selector) == "a = 1 OR JMSType LIKE 'x' OR a IS NULL"
    assert selector.identifiers == {"a", "JMSType"}
    assert repr(selector) == f"Selector({selector.text!r})"


def test_selectors_are_cached_by_text_unless_long() -> None:
    assert compile_selector("a = 1") is compile_selector("a = 1")
    assert compile_selector("a = 1") != compile_selector("a  = 1")
    long = "a = '" + "x" * 5000 + "'"
    assert compile_selector(long) is not compile_selector(long)
    assert compile_selector(long) == compile_selector(long)
    assert hash(compile_selector(long)) == hash(compile_selector(long))


def test_selectors_and_errors_can_be_pickled() -> None:
    selector = compile_selector("a > 1")
    assert pickle.loads(pickle.dumps(selector)).matches({"a": 2}.get)
    error = pickle.loads(pickle.dumps(SelectorError("no", 3, "x" * 99)))
    assert (error.reason, error.position, error.piece) == ("no", 3, "x" * 99)
    assert len(str(error)) < 80


def test_threads_may_compile_at_once() -> None:
    texts = [f"n = {number} AND (a LIKE 'x{number}%' OR NOT b)" for number in range(300)]
    with ThreadPoolExecutor(8) as pool:
        selectors = list(pool.map(compile_selector, texts))
    for number, selector in enumerate(selectors):
        assert selector.text == texts[number]
        assert selector.matches({"n": number, "a": f"x{number}y"}.get)
