"""The keys that remain after a close, and the clean-up after a lost link."""

import threading

from jmsbridge.testing.suite.support import eventually
from redis_harness import RedisHarness


def use(harness: RedisHarness) -> None:
    session = harness.connect(client_id=harness.name("client")).create_session()
    for place in (session.create_temporary_queue(), harness.topic(), harness.queue()):
        consumer = session.create_consumer(place)
        session.create_producer(place).send("text")
        assert consumer.receive(timeout=5) is not None


def test_only_the_queue_remains_after_a_close(redis_url: str) -> None:
    with RedisHarness(redis_url) as harness:
        use(harness)
    eventually(lambda: not [each.name for each in threading.enumerate() if each.name.startswith("jmsbridge-redis")])
    assert harness.kinds() == {"stream"}


def test_the_keys_of_a_lost_link_are_removed_by_another(redis_url: str) -> None:
    with RedisHarness(redis_url) as harness, RedisHarness(redis_url, harness.prefix) as other:
        use(harness)
        harness.proxy.refuse()
        harness.cut()
        other.open_link()
        eventually(lambda: "temporary" not in other.kinds())
        assert other.kinds() == {"links", "lease", "stream"}
