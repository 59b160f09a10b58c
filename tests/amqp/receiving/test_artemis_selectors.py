"""Selectors as Artemis understands them: names of headers on topics, other letters, no_local."""

import pytest

from jmsbridge_amqp.receiving.artemis_selectors import for_artemis


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JMSPriority > 5", "AMQPriority > 5"),
        ("JMSTimestamp > 0 AND JMSType = 'x'", "AMQTimestamp > 0 AND JMSType = 'x'"),
        ("JMSMessageID LIKE 'ID:%'", "AMQUserID LIKE 'ID:%'"),
        ("JMSDeliveryMode = 'PERSISTENT'", "AMQDurable = 'DURABLE'"),
        ("JMSDeliveryMode IN ('NON_PERSISTENT', 'x')", "AMQDurable IN ('NON_DURABLE', 'x')"),
        ("color = 'PERSISTENT'", "color = 'PERSISTENT'"),
        ("JMSCorrelationID = 'JMSPriority'", "JMSCorrelationID = 'JMSPriority'"),
    ],
)
def test_headers_are_renamed(text: str, expected: str) -> None:
    assert for_artemis(text, topic=True, no_local=False) == expected
    assert for_artemis(text, topic=False, no_local=False) == text


@pytest.mark.parametrize("topic", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("été=1 OR b = 'é'", "\"été\" = 1 OR b = 'é'"),
        ("a   IS NULL", "a   IS NULL"),
    ],
)
def test_names_with_other_letters_are_quoted(text: str, expected: str, topic: bool) -> None:
    assert for_artemis(text, topic=topic, no_local=False) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("a = 1 OR b = 2", "(a = 1 OR b = 2)"), ("a = 1 AND (b OR c)", "a = 1 AND (b OR c)")]
)
def test_the_condition_for_no_local_is_joined_to_the_whole(text: str, expected: str) -> None:
    assert for_artemis(text, topic=True, no_local=True) == expected
