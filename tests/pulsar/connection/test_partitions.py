"""What is a partition is seen from a topic's name."""

import pytest

from jmsbridge_pulsar.connection.partitions import number_of_partition, whole_of


@pytest.mark.parametrize(
    ("topic", "whole", "number"),
    [
        ("persistent://a/b/c", "persistent://a/b/c", -1),
        ("persistent://a/b/c-partition-12", "persistent://a/b/c", 12),
        ("persistent://a/b/c-partition-b", "persistent://a/b/c-partition-b", -1),
        ("persistent://a/b/c-partition-1-partition-0", "persistent://a/b/c-partition-1", 0),
    ],
)
def test_partitions_end_with_a_number(topic: str, whole: str, number: int) -> None:
    assert (whole_of(topic), number_of_partition(topic)) == (whole, number)
