"""Redelivery per destination: which entry applies to a name, the origin of its values, and mistakes in it."""

import pickle
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from jmsbridge.config import Options, RedeliveryPolicy, policy_for, resolve
from jmsbridge.errors import ConfigurationError

PROFILE = """
[profiles.x]
url = "stub:"
max_redeliveries = 9
redelivery_delay = 1

[profiles.x.redelivery."orders"]
first_delay = 5.0
delay = "3s"
factor = 1.0
delay_max = 30.0
max_redeliveries = "unlimited"
dead_letter_queue = "orders.dlq"
expiry_queue = "queue:orders.expired"

[profiles.x.redelivery."orders.*"]
delay = 4
dead_letter_queue = "${env:DEAD}"

[profiles.x.redelivery."orders.eu"]
max_redeliveries = -1

[profiles.x.redelivery."topic:news"]
max_redeliveries = 0

[profiles.x.redelivery."*"]
expiry_queue = "expired"
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    (tmp_path / "jmsbridge.toml").write_text(PROFILE, encoding="utf-8")
    monkeypatch.setenv("DEAD", "from.the.environment")
    return resolve("x").options


def test_the_defaults_are_those_of_the_options() -> None:
    assert policy_for(Options(), "orders", False) == RedeliveryPolicy()
    assert policy_for(Options(), "news", True) == RedeliveryPolicy()


def test_an_entry_is_complete(options: Options) -> None:
    assert policy_for(options, "orders", False) == RedeliveryPolicy(
        first_delay=5,
        delay=3,
        factor=1,
        delay_max=30,
        max_redeliveries=-1,
        dead_letter_queue="orders.dlq",
        expiry_queue="orders.expired",
    )


def test_missing_values_come_from_the_next_less_specific_entry(options: Options) -> None:
    regional = policy_for(options, "orders.us", False)
    assert (regional.delay, regional.dead_letter_queue, regional.expiry_queue) == (4, "from.the.environment", "expired")
    assert regional.max_redeliveries == 9
    single = policy_for(options, "orders.eu", False)
    assert (single.delay, single.max_redeliveries, single.expiry_queue) == (4, -1, "expired")
    other = policy_for(options, "invoices", False)
    assert (other.delay, other.max_redeliveries, other.expiry_queue) == (1, 9, "expired")


def test_queues_and_topics_are_told_apart(options: Options) -> None:
    news = policy_for(options, "news", True)
    assert (news.max_redeliveries, news.expiry_queue) == (0, None)
    assert policy_for(options, "news", False).max_redeliveries == 9
    assert policy_for(options, "orders", True).dead_letter_queue is None


@pytest.mark.parametrize(
    ("name", "topic", "expected"),
    [
        ("a", False, 1),
        ("ab", False, 2),
        ("abc", False, 3),
        ("abcd", False, 3),
        ("b", False, 6),
        ("abc", True, 4),
        ("xyz", True, 6),
        ("topic:abc", False, 5),
    ],
)
def test_the_longest_prefix_wins_and_the_exact_name_before_it(name: str, topic: bool, expected: int) -> None:
    entries = {"abc*": 3, "a*": 1, "queue:ab": 2, "topic:a*": 4, "queue:topic:abc": 5}
    given = {key: {"max_redeliveries": value} for key, value in entries.items()}
    options = resolve("stub:", {"redelivery": given}).options
    assert policy_for(options, name, topic).max_redeliveries == expected


def test_policies_in_a_url_and_in_a_call() -> None:
    target = resolve(
        "stub:?redelivery.orders.eu.delay=250ms&redelivery.topic:news.max_redeliveries=unlimited",
        {"redelivery": {"orders.eu": {"factor": 3}, "x": RedeliveryPolicy(delay=7)}},
    )
    eu = policy_for(target.options, "orders.eu", False)
    assert (eu.delay, eu.factor) == (0.25, 3)
    assert policy_for(target.options, "news", True).max_redeliveries == -1
    assert policy_for(target.options, "x", False).delay == 7


def test_every_value_has_its_origin(options: Options) -> None:
    target = resolve("x", {"redelivery": {"orders.eu": {"delay": 8}}})
    settings = target.settings()
    assert settings["redelivery.orders.eu.delay"] == (8.0, "call")
    assert settings["redelivery.orders.eu.max_redeliveries"][0] == -1
    assert settings["redelivery.orders.eu.max_redeliveries"][1].startswith("profile 'x'")
    assert settings["redelivery.orders.eu.expiry_queue"] == settings["redelivery.*.expiry_queue"]
    assert settings["redelivery.topic:news.delay"] == settings["redelivery_delay"]
    assert settings["redelivery.topic:news.factor"] == (2.0, "default")
    assert "redelivery" not in settings
    assert resolve("stub:").settings()["redelivery"] == ({}, "default")


def test_tables_of_emulation_are_shown_the_same_way() -> None:
    settings = resolve("stub:?emulation.browse=allow", {"emulation": {"message_groups": "refuse"}}).settings()
    assert settings["emulation.browse"] == ("allow", "URL")
    assert settings["emulation.message_groups"] == ("refuse", "call")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"orders": {"dealy": 3}}, "'dealy' for 'orders': did you mean 'delay'?"),
        ({"orders": {"max_redelivery": 3}}, "did you mean 'max_redeliveries'?"),
        (
            {"orders": {"delay": "soon"}},
            "'redelivery.orders.delay' (call) cannot be 'soon': expected a duration",
        ),
        ({"orders": {"factor": "2s"}}, "'redelivery.orders.factor' (call) cannot be '2s'"),
        ({"orders": {"max_redeliveries": -3}}, "-1 for no limit"),
        ({"orders": {"dead_letter_queue": "topic:x"}}, "expected the name of a queue"),
        ({"orders": {"expiry_queue": ""}}, "expected the name of a queue"),
        ({"orders": 3}, "'orders' must be a table"),
        ({"delay": 3}, "to set 'delay' for all destinations, use the option 'redelivery_delay'"),
        ({"": {}}, "is not the name of a destination"),
        ({"topic:": {}}, "is not the name of a destination"),
        ({"a*b": {}}, "'*' is allowed only at the end"),
        ({"a": {}, "queue:a": {}}, "two entries for one destination"),
        ({7: {}}, "is given as text, not 7"),
        ("none", "must be a table of destinations, not str"),
        (7, "must be a table of destinations, not int"),
        ({"x": RedeliveryPolicy(factor=0)}, "'redelivery.x.factor' (call) cannot be 0"),
    ],
)
def test_mistakes_are_named(value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve("stub:", {"redelivery": value})
    assert expected in str(caught.value)


def test_a_reference_that_is_wrong_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[profiles.x]\nurl = 'stub:'\n[profiles.x.redelivery.a]\ndelay = '${env:HIDDEN}'\n"
    (tmp_path / "jmsbridge.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HIDDEN", "hunter2")
    with pytest.raises(ConfigurationError) as caught:
        resolve("x")
    assert "redelivery.a.delay" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_factory_with_policies_can_be_pickled() -> None:
    factory = jmsbridge.ConnectionFactory("embedded:", redelivery={"orders": RedeliveryPolicy(delay=3)})
    assert pickle.loads(pickle.dumps(factory)) == factory
