"""What is left when everything is closed, and who cleans up after a link that was not."""

import threading

from jmsbridge.testing.suite.support import eventually
from redis_harness import RedisHarness


def use(harness: RedisHarness) -> None:
    session = harness.connect(client_id=harness.name("client")).create_session()
    for place in (session.create_temporary_queue(), harness.topic(), harness.queue()):
        consumer = session.create_consumer(place)
        session.create_producer(place).send("text")
        assert consumer.receive(timeout=5) is not None


def test_nothing_is_left_but_the_queue(redis_url: str) -> None:
    with RedisHarness(redis_url) as harness:
        use(harness)
    eventually(lambda: not [each.name for each in threading.enumerate() if each.name.startswith("jmsbridge-redis")])
    assert harness.kinds() == {"stream"}


def test_what_a_dead_link_left_is_removed_by_another(redis_url: str) -> None:
    with RedisHarness(redis_url) as harness, RedisHarness(redis_url, harness.prefix) as other:
        use(harness)
        harness.proxy.refuse()
        harness.cut()
        other.open_link()
        eventually(lambda: "temporary" not in other.kinds())
        assert other.kinds() == {"links", "lease", "stream"}
