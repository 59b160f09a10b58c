"""What a conversation asks, against a broker made of dictionaries."""

from types import SimpleNamespace
from typing import Any

import pytest

from jmsbridge.spi import AddressInUse, AddressRefused, SubscriptionRefused, SubscriptionUnknown
from jmsbridge_rabbitmq import delays, topology
from jmsbridge_rabbitmq.control import Ask, Conversation
from jmsbridge_rabbitmq.errors import Refused
from jmsbridge_rabbitmq.topology import Definition, Names


class World:
    """Queues, exchanges and bindings as RabbitMQ treats them, as far as these conversations go."""

    def __init__(self) -> None:
        self.queues: dict[str, dict[str, Any]] = {}
        self.exchanges: dict[str, dict[str, Any]] = {}
        self.bindings: set[tuple[str, str, str]] = set()
        self.consumers: dict[str, int] = {}
        self.asked: list[str] = []

    def hold(self, conversation: Conversation) -> Any:
        """The result of a conversation."""
        answer: Any = None
        no: Refused | None = None
        try:
            while True:
                ask: Ask = conversation.send(answer) if no is None else conversation.throw(no)
                self.asked.append(ask.method)
                answer = no = None
                try:
                    answer = getattr(self, ask.method)(**ask.arguments)
                except Refused as refused:
                    no = refused
        except StopIteration as end:
            return end.value

    def queue_declare(self, queue: str, passive: bool = False, **kind: Any) -> Any:
        if queue not in self.queues:
            if passive:
                raise Refused(404, f"NOT_FOUND - no queue '{queue}' in vhost '/'")
            self.queues[queue] = kind
        if not passive:
            _compare(self.queues[queue].get("arguments") or {}, kind.get("arguments") or {}, f"queue '{queue}'")
        return SimpleNamespace(queue=queue, message_count=0, consumer_count=self.consumers.get(queue, 0))

    def queue_delete(self, queue: str, if_unused: bool) -> None:
        if if_unused and self.consumers.get(queue):
            raise Refused(406, f"PRECONDITION_FAILED - queue '{queue}' in vhost '/' in use")
        self.queues.pop(queue, None)
        for binding in [each for each in self.bindings if each[0] == queue]:
            self.bindings.discard(binding)
            if self.exchanges[binding[1]].get("auto_delete") and not any(
                each[1] == binding[1] for each in self.bindings
            ):
                del self.exchanges[binding[1]]

    def queue_bind(self, queue: str, exchange: str, routing_key: str) -> None:
        if exchange not in self.exchanges:
            raise Refused(404, f"NOT_FOUND - no exchange '{exchange}' in vhost '/'")
        self.bindings.add((queue, exchange, routing_key))

    def exchange_declare(self, exchange: str, exchange_type: str, passive: bool = False, **kind: Any) -> None:
        if exchange not in self.exchanges:
            if passive:
                raise Refused(404, f"NOT_FOUND - no exchange '{exchange}' in vhost '/'")
            self.exchanges[exchange] = {"type": exchange_type, **kind}
        present = self.exchanges[exchange]
        if present["type"] != exchange_type:
            raise Refused(406, f"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '{exchange}'")
        if not passive:
            _compare(present.get("arguments") or {}, kind.get("arguments") or {}, f"exchange '{exchange}'")

    def exchange_delete(self, exchange: str) -> None:
        self.exchanges.pop(exchange, None)


def _compare(present: dict[str, Any], asked: dict[str, Any], what: str) -> None:
    for name in sorted({*present, *asked}, key=lambda each: each == "x-queue-type"):
        if present.get(name) != asked.get(name):
            value = present.get(name)
            shown = str(value).lower() if isinstance(value, bool) else value
            current = "none" if value is None else f"the value '{shown}' of type '{_type_of(value)}'"
            where = f"inequivalent arg '{name}' for {what} in vhost '/'"
            text = f"PRECONDITION_FAILED - {where}: received {asked.get(name)} but current is {current}"
            raise Refused(406, text[:255])


def _type_of(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "signedint" if isinstance(value, int) else "longstr"


@pytest.fixture
def world() -> World:
    return World()


def durable(**changes: Any) -> Definition:
    values: dict[str, Any] = {"queue": "c.s", "topic": "t", "durable": True, "shared": False, "selector": None}
    return Definition(**{"no_local": False, **values, **changes})


def test_a_queue_that_is_there_is_only_looked_at(world: World) -> None:
    world.queues["q"] = {"arguments": {"x-max-priority": 9}}
    world.hold(topology.ensure_queue("q", "quorum"))
    assert world.asked == ["queue_declare"]
    assert world.queues == {"q": {"arguments": {"x-max-priority": 9}}}


def test_a_missing_queue_is_made_without_a_type_unless_asked_for(world: World) -> None:
    world.hold(topology.ensure_queue("plain", None))
    world.hold(topology.ensure_queue("safe", "quorum"))
    assert world.queues["plain"] == {"durable": True, "arguments": {}}
    assert world.queues["safe"] == {"durable": True, "arguments": {"x-queue-type": "quorum"}}


@pytest.mark.parametrize("name", ["", "x" * 256, "ä" * 128])
def test_names_that_amqp_cannot_carry_are_refused(world: World, name: str) -> None:
    with pytest.raises(AddressRefused, match="1 to 255 bytes"):
        world.hold(topology.ensure_queue(name, None))
    assert world.asked == []


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({}, "classic"),
        ({"x-queue-type": "quorum"}, "quorum"),
        ({"x-queue-type": "quorum", "x-max-length": 10, "x-dead-letter-exchange": ""}, "quorum"),
        ({"x-max-priority": 9, "x-single-active-consumer": True}, "classic"),
        ({"x-queue-type": "stream"}, "stream"),
    ],
)
def test_the_type_of_a_queue_is_found_without_changing_it(world: World, arguments: dict[str, Any], kind: str) -> None:
    world.queues["q"] = {"durable": True, "arguments": dict(arguments)}
    assert world.hold(topology.kind_of("q")) == kind
    assert world.queues == {"q": {"durable": True, "arguments": arguments}}


@pytest.mark.parametrize("kind", ["classic", "quorum", "stream"])
def test_the_type_is_found_where_the_refusal_is_cut(world: World, kind: str) -> None:
    name = "n" * 200
    world.queues[name] = {"durable": True, "arguments": {"x-queue-type": kind}}
    assert world.hold(topology.kind_of(name)) == kind


def test_a_type_that_no_refusal_shows_is_unknown(world: World) -> None:
    world.queues["n" * 200] = {"durable": True, "arguments": {"x-max-length": 10}}
    assert world.hold(topology.kind_of("n" * 200)) is None


def test_a_subscription_is_a_queue_bound_to_its_topic(world: World) -> None:
    sub = durable()
    world.hold(topology.define(sub, None))
    world.hold(topology.define(sub, None))
    assert ("c.s", topology.TOPICS, "t") in world.bindings
    assert list(world.queues) == ["c.s"]


@pytest.mark.parametrize("change", [{"topic": "u"}, {"selector": "a = 1"}, {"no_local": True}], ids=str)
def test_a_changed_subscription_starts_afresh(world: World, change: dict[str, Any]) -> None:
    world.hold(topology.define(durable(), None))
    world.hold(topology.define(durable(**change), None))
    topics = {key for queue, exchange, key in world.bindings if exchange == topology.TOPICS}
    assert topics == {change.get("topic", "t")}
    assert len([name for name in world.exchanges if name.startswith("jms.definition.")]) == 1


def test_a_changed_subscription_in_use_is_refused(world: World) -> None:
    world.hold(topology.define(durable(), None))
    world.consumers["c.s"] = 1
    with pytest.raises(SubscriptionRefused, match="in use"):
        world.hold(topology.define(durable(selector="a = 1"), None))
    assert ("c.s", topology.TOPICS, "t") in world.bindings


@pytest.mark.parametrize("shared", [True, False])
def test_shared_and_unshared_exclude_each_other(world: World, shared: bool) -> None:
    world.hold(topology.define(durable(shared=shared), None))
    with pytest.raises(SubscriptionRefused, match="unsubscribe it first"):
        world.hold(topology.define(durable(shared=not shared), None))


def test_a_definition_left_behind_without_its_queue_is_replaced(world: World) -> None:
    world.hold(topology.define(durable(), None))
    marker = next(name for name in world.exchanges if name.startswith("jms.definition."))
    kept = world.exchanges[marker]
    world.queue_delete("c.s", if_unused=False)
    world.exchanges[marker] = kept
    world.hold(topology.define(durable(shared=True, topic="u"), None))
    assert ("c.s", topology.TOPICS, "u") in world.bindings
    assert world.exchanges[marker]["type"] == "direct"


def test_unsubscribe_forgets_and_says_what_it_cannot(world: World) -> None:
    world.hold(topology.define(durable(), None))
    world.consumers["c.s"] = 1
    with pytest.raises(SubscriptionRefused):
        world.hold(topology.unsubscribe("c.s", "s"))
    world.consumers.clear()
    world.hold(topology.unsubscribe("c.s", "s"))
    with pytest.raises(SubscriptionUnknown):
        world.hold(topology.unsubscribe("c.s", "s"))
    assert [name for name in world.exchanges if name.startswith("jms.definition.")] == []


def test_a_used_queue_is_not_deleted(world: World) -> None:
    world.hold(topology.ensure_queue("q", None))
    world.consumers["q"] = 1
    with pytest.raises(AddressInUse):
        world.hold(topology.delete_queue("q", "queue:q"))
    assert "q" in world.queues


def test_names_of_subscriptions_belong_to_their_client() -> None:
    assert Names("a.b", False).durable("c") != Names("a", False).durable("b.c")
    assert Names(None, False).durable("a.b") != Names("a", False).durable("b")
    assert Names("a", False).durable("b") == "a.b"
    assert Names("a", True).durable("b") == "b"
    assert Names("a", True).shared("b") == Names("a", False).shared("b")


def test_long_names_still_have_a_definition() -> None:
    sub = durable(queue="q" * 255)
    assert len(sub.marker) < 256
    assert durable(queue="q" * 254 + "x").marker != sub.marker


@pytest.mark.parametrize(
    ("delay", "waits"),
    [(1, 10), (10, 10), (99, 99), (100, 100), (101, 110), (999, 1000), (1234, 1300), (86_400_000, 87_000_000)],
)
def test_delays_are_rounded_up_a_little(delay: int, waits: int) -> None:
    assert delays.bucket(delay) == waits


def test_a_waiting_place_sends_on_to_its_target(world: World) -> None:
    world.hold(delays.ensure_waiting(1300, "", None))
    (name,) = world.queues
    arguments = world.queues[name]["arguments"]
    assert arguments["x-message-ttl"] == 1300
    assert arguments["x-dead-letter-exchange"] == ""
    assert arguments["x-expires"] >= 1300 + 1000 * delays.FRESH
    assert (name, name, "") in world.bindings


def test_a_waiting_place_that_is_refused_leaves_nothing_that_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise Refused(403, "ACCESS_REFUSED - configure access")

    monkeypatch.setattr(world, "queue_declare", refuse)
    with pytest.raises(Refused):
        world.hold(delays.ensure_waiting(1300, "", None))
    assert not world.exchanges


def test_the_longest_delay_is_the_longest_that_a_queue_lives() -> None:
    assert delays.bucket(delays.LONGEST) == delays.LONGEST
    assert delays.LONGEST + delays._SPARE <= 315_360_000_000 < delays.bucket(delays.LONGEST + 1) + delays._SPARE
