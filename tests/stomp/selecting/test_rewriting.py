"""Selectors as brokers get them; that these evaluate them as jmsbridge does is shown by the suite on them."""

import pytest

from jmsbridge.selectors import compile_selector
from jmsbridge.spi import SelectorRefused
from jmsbridge_stomp.messages.wire import ARTEMIS, CLASSIC
from jmsbridge_stomp.selecting.rewriting import rewritten

PREFIX = "convert_string_expressions:"


def for_artemis(selector: str) -> str:
    found = rewritten(selector, ARTEMIS)
    assert found.startswith(PREFIX)
    text = found.removeprefix(PREFIX)
    compile_selector(text.replace('"größe"', "größe"))  # the broker has the same grammar
    return text


@pytest.mark.parametrize(
    ("selector", "parts"),
    [
        ("n > 10", ["""jb_types LIKE '%"n": "%' ESCAPE '!' AND n > 10.0""", "NOT (n LIKE '%')) AND n > 10"]),
        ("n_1 = 2", ["""LIKE '%"n!_1": "%' ESCAPE '!' AND n_1 = 2.0"""]),
        ("10 < n", ["n > 10.0"]),
        ("n = 9007199254740993", ["""LIKE '%"n": "long"%' ESCAPE '!' AND n = 9007199254740993"""]),
        ("b", ["""LIKE '%"b": "boolean"%' ESCAPE '!' AND b = 'true'""", "AND b = TRUE"]),
        ("NOT b", ["b = 'false'"]),
        (
            "NOT (n = 5)",
            ["n < 5.0 OR n > 5.0", """LIKE '%"n": "boolean"%'""", "n = TRUE OR n = FALSE"],
        ),
        ("NOT (s = 'x')", ["s <> 'x'", """jb_types LIKE '%"s": "%' ESCAPE '!'"""]),
        ("s = '42'", ["s LIKE '%'", """NOT (jb_types LIKE '%"s": "%' ESCAPE '!')""", "AND s = '42'"]),
        ("s NOT IN ('a', 'b')", ["NOT (s IN ('a', 'b'))"]),
        ("NOT (s IN ('a', 'b'))", ["NOT (s IN ('a', 'b'))", """OR jb_types LIKE '%"s": "%' ESCAPE '!'"""]),
        ("NOT (n BETWEEN 1 AND 2)", ["n < 1.0", "n > 2.0", """LIKE '%"n": "boolean"%'"""]),
        ("größe <> 5", ['"größe" < 5.0 OR "größe" > 5.0', r'%"gr\u00f6\u00dfe": "%']),
        ("JMSPriority BETWEEN 3 AND 6", ["AMQPriority >= 3 AND AMQPriority <= 6"]),
        ("JMSDeliveryMode = 'PERSISTENT'", ["AMQDurable = 'DURABLE'"]),
        ("JMSMessageID = 'ID:x_1'", ["""jb_message LIKE '{"id":"ID:x!_1"%' ESCAPE '!'"""]),
        ("JMSCorrelationID = 'c'", ["JMSCorrelationID = 'c'"]),
        ("JMSTimestamp = 1800000000000", ["""jb_message LIKE '%"timestamp":1800000000000}%'"""]),
        ("x IS NULL", ["x IS NULL"]),
        ("1 > 2 OR s LIKE 'a%'", ["FALSE OR", "s LIKE 'a%'"]),
    ],
)
def test_each_condition_asks_for_the_type(selector: str, parts: list[str]) -> None:
    text = for_artemis(selector)
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(
    "selector",
    [
        "n + 1 = 43",
        "a = b",
        "(n > 1) = TRUE",
        "JMSMessageID LIKE 'ID:%'",
        "JMSXUserID = 'x'",
        "type = 'x'",
        "JMS_x > 1",
    ],
)
def test_what_the_broker_cannot_evaluate_is_refused(selector: str) -> None:
    with pytest.raises(SelectorRefused, match="Artemis"):
        rewritten(selector, ARTEMIS)


def test_classic_converts_without_a_prefix_and_knows_the_names_of_jms() -> None:
    found = rewritten("JMSPriority > 3 AND JMSDeliveryMode = 'PERSISTENT' AND n = 1", CLASSIC)
    assert "JMSPriority > 3 AND JMSDeliveryMode LIKE '%' AND JMSDeliveryMode = 'PERSISTENT'" in found.replace("(", "")
    assert not found.startswith(PREFIX)
    with pytest.raises(SelectorRefused, match="ASCII"):
        rewritten("größe = 1", CLASSIC)
