"""Selectors as Erlang terms: the texts are those that RabbitMQ's Java client 3.7.0 writes."""

import pytest

from jmsbridge.spi import NotSupported
from jmsbridge_rabbitmq.broker.erlang_selector import MAX_NESTING, erlang_selector

JAVA = {
    "n > 10 AND s LIKE 'h%'": """{'and',{'>',{'ident',<<"n">>},10},{'like',{'ident',<<"s">>},<<"h%">>,'no_escape'}}.""",
    "a = 1 AND b = 2 AND c = 3": """{'and',{'=',{'ident',<<"a">>},1},"""
    """{'and',{'=',{'ident',<<"b">>},2},{'=',{'ident',<<"c">>},3}}}.""",
    "(a = 1 OR b = 2) AND c <> 3": """{'and',{'or',{'=',{'ident',<<"a">>},1},{'=',{'ident',<<"b">>},2}},"""
    """{'<>',{'ident',<<"c">>},3}}.""",
    "NOT (a = 1 AND b = 2)": """{'not',{'and',{'=',{'ident',<<"a">>},1},{'=',{'ident',<<"b">>},2}}}.""",
    "b": """{'ident',<<"b">>}.""",
    "b = TRUE": """{'=',{'ident',<<"b">>},'true'}.""",
    "b <> FALSE": """{'<>',{'ident',<<"b">>},'false'}.""",
    "TRUE": "'true'.",
    "n BETWEEN 1 AND 5": """{'between',{'ident',<<"n">>},1,5}.""",
    "n NOT BETWEEN -1 AND 5.5": """{'not_between',{'ident',<<"n">>},{'-',1},5.5}.""",
    "s IN ('a','b\"c\\d','it''s')": """{'in',{'ident',<<"s">>},[<<"a">>,<<"b\\"c\\\\d">>,<<"it's">>]}.""",
    "s NOT IN ('a')": """{'not_in',{'ident',<<"s">>},[<<"a">>]}.""",
    "s IS NULL": """{'is_null',{'ident',<<"s">>}}.""",
    "s IS NOT NULL": """{'not_null',{'ident',<<"s">>}}.""",
    "s NOT LIKE 'a_b%' ESCAPE '_'": """{'not_like',{'ident',<<"s">>},<<"a_b%">>,<<"_">>}.""",
    "n = 1e10": """{'=',{'ident',<<"n">>},1.0E10}.""",
    "n = 1.0E-7": """{'=',{'ident',<<"n">>},1.0E-7}.""",
    "n = 1e22": """{'=',{'ident',<<"n">>},1.0E22}.""",
    "n = 12345678.9": """{'=',{'ident',<<"n">>},1.23456789E7}.""",
    "n = 5.": """{'=',{'ident',<<"n">>},5.0}.""",
    "n = -5": """{'=',{'ident',<<"n">>},{'-',5}}.""",
    "n = 123456789012": """{'=',{'ident',<<"n">>},123456789012}.""",
    "n = 9223372036854775807": """{'=',{'ident',<<"n">>},9223372036854775807}.""",
    "s = 'é€'": """{'=',{'ident',<<"s">>},<<"é€">>}.""",
    "s = ''": """{'=',{'ident',<<"s">>},<<"">>}.""",
    "JMSPriority >= 5 AND JMSDeliveryMode = 'PERSISTENT'": """{'and',{'>=',{'ident',<<"JMSPriority">>},5},"""
    """{'=',{'ident',<<"JMSDeliveryMode">>},<<"PERSISTENT">>}}.""",
}


@pytest.mark.parametrize(("selector", "text"), JAVA.items())
def test_java_writes_the_same(selector: str, text: str) -> None:
    assert erlang_selector(selector, "RabbitMQ") == text


@pytest.mark.parametrize(
    ("selector", "text"), [("n = 5L", "5"), ("n = -1.5f", "{'-',1.5}"), ("n = 0.1f", "0.10000000149011612")]
)
def test_typed_numbers(selector: str, text: str) -> None:
    assert erlang_selector(selector, "RabbitMQ") == f"""{{'=',{{'ident',<<"n">>}},{text}}}."""


def nesting(text: str) -> int:
    """The nesting depth of tuples and lists; the texts have no braces in strings."""
    depth = most = 0
    for character in text:
        depth += (character in "{[") - (character in "}]")
        most = max(most, depth)
    return most


@pytest.mark.parametrize("operator", ["AND", "OR"])
def test_long_chains_are_trees_of_little_depth(operator: str) -> None:
    text = erlang_selector(f" {operator} ".join(f"n{number} = {number}" for number in range(1000)), "RabbitMQ")
    assert text.count("ident") == 1000
    assert [text.index(f'"n{number}"') for number in range(1000)] == sorted(
        text.index(f'"n{each}"') for each in range(1000)
    )
    assert nesting(text) == 12 <= MAX_NESTING


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("n + 1 > 2", "arithmetic"),
        ("n / 2 = 3", "divides"),
        ("-n < 3", "arithmetic"),
        ("JMSXDeliveryCount > 1", "JMSXDeliveryCount"),
        ("CC = 'a'", "headers"),
        ("s LIKE 'aé%' ESCAPE 'é'", "ASCII"),
        ("NOT (a = 1 AND " * 8 + "b = 1" + ")" * 8, "nesting is 18"),
        ("s IN (" + ",".join(["''"] * 10_000) + ")", "bytes"),
    ],
)
def test_what_the_plugin_cannot_do_is_refused(selector: str, why: str) -> None:
    with pytest.raises(NotSupported, match=why) as refused:
        erlang_selector(selector, "RabbitMQ 4")
    assert "topic_selectors" in str(refused.value)
