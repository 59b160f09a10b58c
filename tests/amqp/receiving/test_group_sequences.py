"""To Artemis and ActiveMQ Classic every message has a group sequence."""

import pytest

from jmsbridge_amqp.receiving.group_sequences import with_zero_sequences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JMSXGroupSeq IS NULL", "JMSXGroupSeq = 0"),
        ("JMSXGroupID = 'a' AND JMSXGroupSeq IS NOT NULL", "JMSXGroupID = 'a' AND JMSXGroupSeq <> 0"),
        ("JMSXGroupSeq=0 AND  JMSXGroupID IS NULL", "JMSXGroupSeq=0 AND  JMSXGroupID IS NULL"),
    ],
)
def test_no_sequence_is_zero(text: str, expected: str) -> None:
    assert with_zero_sequences(text) == expected
