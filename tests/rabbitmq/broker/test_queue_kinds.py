"""How queues are declared, and how the type and the delivery limit of existing queues are found."""

import logging
from typing import Any

import pytest

from jmsbridge_rabbitmq.broker import topology
from jmsbridge_rabbitmq.broker.queue_kinds import UNREACHED, Kind, QueueKinds, warn_of_limit
from tests.rabbitmq.broker.dictionaries import World

OURS = {"x-queue-type": "quorum", "x-delivery-limit": UNREACHED}


def kinds(queue_type: str | None = None, stated: int | None = None, version: str = "4.0.5") -> QueueKinds:
    """The queue kinds of a link to RabbitMQ."""
    made = QueueKinds(queue_type, stated)
    made.learn("RabbitMQ", version)
    return made


@pytest.fixture
def world() -> World:
    return World()


# -- declaring


@pytest.mark.parametrize("version", ["3.10.8", "4.0.5", "4.3.0-rc.1"])
def test_quorum_queues_get_an_unreachable_delivery_limit(world: World, version: str) -> None:
    world.hold(topology.ensure_queue("q", kinds("quorum", version=version)))
    assert world.queues["q"]["arguments"] == OURS


@pytest.mark.parametrize(
    ("default", "version", "arguments", "asked"),
    [
        ("classic", "4.0.5", {}, 3),  # three requests: passive; with a limit, refused; without a limit
        ("classic", "3.10.8", {}, 2),
        ("quorum", "4.0.5", {"x-delivery-limit": UNREACHED}, 2),
        ("quorum", "3.10.8", {}, 2),  # no limit unless one is set
    ],
)
def test_the_virtual_hosts_type_decides(default: str, version: str, arguments: dict[str, Any], asked: int) -> None:
    world = World(default)
    world.hold(topology.ensure_queue("q", kinds(version=version)))
    assert world.queues["q"]["arguments"] == arguments
    assert len(world.asked) == asked


def test_a_virtual_host_of_classic_queues_is_known_after_the_first(world: World) -> None:
    link = kinds()
    world.hold(topology.ensure_queue("a", link))
    del world.asked[:]
    world.hold(topology.ensure_queue("b", link))
    assert world.asked == ["queue_declare", "queue_declare"]


def test_classic_queues_are_declared_with_their_type(world: World) -> None:
    world.hold(topology.ensure_queue("q", kinds("classic")))
    assert world.queues["q"]["arguments"] == {"x-queue-type": "classic"}
    assert len(world.asked) == 2


def test_a_durable_subscription_gets_a_limit_and_a_non_durable_one_is_classic() -> None:
    world = World("quorum")
    for durable in (True, False):
        made = topology.Definition(
            queue=f"s-{durable}", topic="t", durable=durable, shared=True, selector=None, no_local=False
        )
        world.hold(topology.define(made, kinds()))
    assert world.queues["s-True"]["arguments"] == {"x-delivery-limit": UNREACHED}
    assert world.queues["s-False"]["arguments"]["x-queue-type"] == "classic"


def test_a_queue_created_meanwhile_is_used_unchanged(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    declare = world.queue_declare

    def race(queue: str, passive: bool = False, **kind: Any) -> Any:
        if not passive:
            world.queues.setdefault(queue, {"durable": True, "arguments": {"x-queue-type": "quorum"}})
        return declare(queue, passive, **kind)

    monkeypatch.setattr(world, "queue_declare", race)
    world.hold(topology.ensure_queue("q", kinds("quorum")))
    assert world.queues["q"]["arguments"] == {"x-queue-type": "quorum"}


# -- reading


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({}, Kind("classic")),
        ({"x-queue-type": "quorum"}, Kind("quorum", 20)),
        ({"x-queue-type": "quorum", "x-max-length": 10, "x-dead-letter-exchange": ""}, Kind("quorum", 20)),
        ({"x-queue-type": "quorum", "x-delivery-limit": 5}, Kind("quorum", 5)),
        ({"x-queue-type": "quorum", "x-delivery-limit": 0, "x-max-length": 10}, Kind("quorum", 0)),
        ({"x-queue-type": "quorum", "x-delivery-limit": -1}, Kind("quorum")),
        (OURS, Kind("quorum")),
        ({"x-max-priority": 9, "x-single-active-consumer": True}, Kind("classic")),
        ({"x-queue-type": "stream"}, Kind("stream")),
    ],
)
def test_the_kind_of_a_queue_is_found_without_changing_it(world: World, arguments: dict[str, Any], kind: Kind) -> None:
    world.queues["q"] = {"durable": True, "arguments": dict(arguments)}
    assert world.hold(kinds().kind_of("q")) == kind
    assert world.queues == {"q": {"durable": True, "arguments": arguments}}


def test_a_queue_declared_by_jmsbridge_needs_at_most_one_question(world: World) -> None:
    world.queues["q"] = {"durable": True, "arguments": OURS}
    link = kinds("quorum")
    assert world.hold(link.kind_of("q")) == Kind("quorum")
    assert world.asked == ["queue_declare"]
    world.hold(topology.ensure_queue("r", link))
    del world.asked[:]
    assert world.hold(link.kind_of("r")) == Kind("quorum")
    assert world.asked == []


@pytest.mark.parametrize(
    ("declared", "stated", "version", "limit"),
    [
        (None, None, "4.0.5", 20),
        (None, None, "3.10.8", None),
        (None, None, "", None),
        (None, -1, "4.0.5", None),
        (None, 7, "3.10.8", 7),
        (5, 7, "4.0.5", 5),
        (9, 7, "4.0.5", 7),
        (9, -1, "4.0.5", 9),
        (UNREACHED, 7, "4.0.5", 7),
        (-1, 7, "4.0.5", 7),
        (None, 0, "4.0.5", 0),
    ],
)
def test_the_smallest_limit_applies(
    world: World, declared: int | None, stated: int | None, version: str, limit: int | None
) -> None:
    arguments = {"x-queue-type": "quorum"} | ({} if declared is None else {"x-delivery-limit": declared})
    world.queues["q"] = {"durable": True, "arguments": arguments}
    assert world.hold(kinds(None, stated, version).kind_of("q")) == Kind("quorum", limit)


def test_asking_for_a_deleted_queue_does_not_create_it(world: World) -> None:
    assert world.hold(kinds().kind_of("gone")) == Kind(None, 20)
    assert world.queues == {}


def test_another_product_has_no_default_limit(world: World) -> None:
    made = QueueKinds(None, None)
    made.learn("LavinMQ", "4.1.0")
    world.queues["q"] = {"durable": True, "arguments": {"x-queue-type": "quorum"}}
    assert world.hold(made.kind_of("q")) == Kind("quorum")


@pytest.mark.parametrize("kind", ["classic", "quorum", "stream"])
def test_the_type_is_found_in_a_truncated_refusal(world: World, kind: str) -> None:
    name = "n" * 200
    world.queues[name] = {"durable": True, "arguments": {"x-queue-type": kind}}
    assert world.hold(kinds().kind_of(name)).type == kind


def test_an_unknown_limit_is_assumed_to_be_small(world: World) -> None:
    name = "n" * 200
    world.queues[name] = {"durable": True, "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 5}}
    assert world.hold(kinds().kind_of(name)) == Kind("quorum", 1)


def test_a_queue_of_unknown_type_may_have_a_limit(world: World) -> None:
    world.queues["n" * 200] = {"durable": True, "arguments": {"x-max-length": 10}}
    assert world.hold(kinds().kind_of("n" * 200)) == Kind(None, 20)
    assert world.hold(kinds(version="3.10.8").kind_of("n" * 200)) == Kind(None)


def test_a_deleted_queue_is_read_again(world: World) -> None:
    link = kinds("quorum")
    world.hold(topology.ensure_queue("q", link))
    world.hold(topology.delete_queue("q", "queue:q", link))
    world.queues["q"] = {"durable": True, "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 3}}
    assert world.hold(link.kind_of("q")) == Kind("quorum", 3)


# -- warning


def test_a_queue_with_a_limit_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        warn_of_limit("told-once", Kind("quorum", 20), "RabbitMQ 4.0.5", "here")
        warn_of_limit("endless", Kind("quorum"), "RabbitMQ 4.0.5", "here")
        warn_of_limit("classic", Kind("classic"), "RabbitMQ 4.0.5", "here")
    (told,) = caplog.records
    warn_of_limit("told-once", Kind("quorum", 20), "RabbitMQ 4.0.5", "elsewhere")
    assert len(caplog.records) == 2
    assert told.levelno == logging.WARNING
    for part in ("'told-once'", "RabbitMQ 4.0.5", "20 times", "x-delivery-limit", "delivery_limit"):
        assert part in told.getMessage()
