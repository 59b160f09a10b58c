"""Links: options, client ids, temporary destinations, loss, and fork."""

import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import jmsbridge_embedded
from jmsbridge.spi import (
    AddressInUse,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    Endpoint,
    Interest,
    LinkLost,
    Mode,
    Native,
    NotSupported,
    Outcome,
    SubscriptionUnknown,
)
from jmsbridge_embedded import EmbeddedOptions, backend
from jmsbridge_embedded.memory.link import Link
from tests.embedded.memory.support import Box, Events, Reply, User, World, message, queue, topic


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    for name in ("default", "one", "two"):
        jmsbridge_embedded.discard(name)


def connect(broker: str = "one", events: Events | None = None, **options: Any) -> Link:
    backend = jmsbridge_embedded.EmbeddedBackend()
    endpoint = {key: options.pop(key) for key in ("user", "password", "client_id", "path", "host") if key in options}
    link = backend.open(
        Endpoint(scheme="embedded", **endpoint), EmbeddedOptions(broker=broker, **options), events or Events()
    )
    assert isinstance(link, Link)
    return link


def received(link: Link) -> list[Any]:
    return User(link.channel(False), Interest(address=queue()), 100).bodies


def test_the_backend_describes_itself() -> None:
    link = connect()
    assert backend.name == "embedded"
    assert link.native == backend.native == ~Native.NONE
    assert link.broker.startswith("jmsbridge embedded broker")
    assert link.channel(False).subscribe(Interest(address=queue()), Box()).native == backend.native


def test_brokers_have_names_and_exist_until_discarded() -> None:
    link = connect("one")
    link.channel(False).send(message(1), None)
    link.close()
    assert received(connect("two")) == []
    assert received(connect("one")) == [1]
    jmsbridge_embedded.discard("one")
    jmsbridge_embedded.discard("unknown")
    assert received(connect("one")) == []


def test_the_endpoint_is_this_process() -> None:
    with pytest.raises(NotSupported, match="use embedded: or embedded:PATH"):
        connect(host="localhost")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"max_messages": "0"}, EmbeddedOptions, strict=False)


@pytest.mark.parametrize("credentials", [{"app": "secret"}, "app:secret,other:word"])
def test_credentials_are_checked_if_they_are_configured(credentials: Any) -> None:
    wrong: list[dict[str, Any]] = [{}, {"user": "app"}, {"user": "app", "password": "word"}, {"password": "secret"}]
    for given in wrong:
        with pytest.raises(AuthenticationFailed):
            connect(credentials=credentials, **given)
    assert connect(credentials=credentials, user="app", password="secret").client.lost is None
    assert connect(user="anybody", password="anything").client.lost is None
    assert "secret" not in repr(EmbeddedOptions(credentials=credentials))


def test_a_client_id_belongs_to_one_live_link() -> None:
    link = connect(client_id="app")
    with pytest.raises(ClientIdRefused, match="in use"):
        connect(client_id="app")
    with pytest.raises(ClientIdRefused, match="empty"):
        connect(client_id="")
    assert connect("two", client_id="app").client.client_id == "app"
    link.close()
    connect(client_id="app")
    jmsbridge_embedded.cut("one")
    assert connect(client_id="app").client.client_id == "app"


@pytest.mark.parametrize("kind", [queue("reply"), topic("reply"), queue(""), topic("")])
def test_temporary_destinations(world: World, kind: Any) -> None:
    other = world.connect()
    address = world.link.declare(kind)
    assert address.temporary
    assert address.topic == kind.topic
    assert address != world.link.declare(kind)
    user = world.consume(address)
    world.send(message(1, address), channel=other.channel(False))
    assert user.bodies == [1]
    with pytest.raises(AddressInUse, match="another connection"):
        world.consume(address, channel=other.channel(False))
    with pytest.raises(AddressInUse, match="another connection"):
        other.delete(address)
    with pytest.raises(AddressInUse, match="has consumers"):
        world.link.delete(address)
    user.close()
    world.link.delete(address)
    assert (isinstance(world.refused(message(2, address)), AddressRefused), world.stored) == (True, 0)
    with pytest.raises(AddressRefused):
        world.consume(address)
    with pytest.raises(AddressRefused):
        world.link.delete(address)


@pytest.mark.parametrize("how", ["close", "cut"])
def test_temporary_destinations_end_with_their_link(world: World, how: str) -> None:
    owner = world.connect()
    addresses = [owner.declare(queue()), owner.declare(topic())]
    world.consume(addresses[1], channel=owner.channel(False))
    sender = world.connect()
    world.send(*(message(1, address) for address in addresses), channel=sender.channel(False))
    owner.close() if how == "close" else world.broker.cut("cut")
    fresh = world.connect().channel(False)
    assert all(isinstance(world.refused(message(2, address), fresh), AddressRefused) for address in addresses)
    assert world.stored == 0


def test_destinations_need_names_and_only_temporary_ones_are_deleted(world: World) -> None:
    assert isinstance(world.refused(message(1, queue(""))), AddressRefused)
    assert isinstance(world.refused(message(1, topic(""))), AddressRefused)
    world.send_bodies(1)
    with pytest.raises(AddressRefused):
        world.link.delete(queue())


def check_dead(link: Link, channel: Any, subscription: Any, sent: bool = True) -> None:
    """Every verb fails fast, by its ticket where it has one; closing does not fail."""
    replies = [Reply() for _ in range(5)]
    channel.send(message("x"), replies[0])
    channel.commit(replies[1])
    channel.rollback(replies[2])
    subscription.drain(replies[3])
    subscription.settle([], Outcome.ACCEPTED, replies[4])
    assert all(isinstance(reply.error, LinkLost) for reply in replies)
    calls: list[Any] = [
        lambda: channel.send(message("x"), None),
        lambda: channel.subscribe(Interest(address=queue()), Box()),
        lambda: subscription.grant(1),
        lambda: subscription.settle([], Outcome.ACCEPTED),
    ]
    if sent:
        calls += [
            lambda: link.channel(False),
            lambda: link.declare(queue()),
            lambda: link.delete(queue()),
            lambda: link.unsubscribe("x", None),
        ]
    for call in calls:
        with pytest.raises(LinkLost):
            call()
    subscription.close()
    channel.close()
    link.close()


@pytest.mark.parametrize("mode", [Mode.CONSUME, Mode.BROWSE])
def test_a_cut_ends_every_link_once_and_requeues(mode: Mode) -> None:
    events = Events()
    link = connect(events=events)
    channel = link.channel(True)
    connect().channel(False).send(message(1), None)
    user = User(channel, Interest(address=queue(), mode=mode), 10)
    assert user.bodies == [1]
    jmsbridge_embedded.cut("one")
    jmsbridge_embedded.cut("one")
    jmsbridge_embedded.cut("unknown")
    assert [type(error) for error in events.losses] == [LinkLost]
    check_dead(link, channel, user.subscription)
    again = User(connect().channel(False), Interest(address=queue()), 10)
    assert again.last.redelivered == (mode is Mode.CONSUME)
    assert user.bodies == [1]


def test_closing_reports_no_loss_and_ends_everything() -> None:
    events = Events()
    link = connect(events=events)
    channel = link.channel(False)
    user = User(channel, Interest(address=queue()), 10)
    link.close()
    check_dead(link, channel, user.subscription)
    assert events.losses == []


def test_a_closed_channel_ends_alone(world: World) -> None:
    channel = world.link.channel(True)
    user = world.consume(channel=channel)
    channel.close()
    check_dead(world.connect(), channel, user.subscription, sent=False)
    world.send_bodies(1)
    assert world.browse() == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_link_is_dead_in_a_forked_child_and_alive_in_its_parent() -> None:
    link = connect()
    channel = link.channel(False)
    user = User(channel, Interest(address=queue()), 10)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - coverage does not follow
        said = "nothing"
        try:
            reply = Reply()
            channel.send(message(1), reply)
            check_dead(link, channel, user.subscription)
            own = connect()
            own.channel(False).send(message(2), None)
            said = f"{reply.error} {received(own)}"
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert "opened in another process" in said
    assert said.endswith("[2]")
    channel.send(message(3), None)
    assert user.bodies == [3]


def test_unknown_subscriptions_and_errors_share_a_root() -> None:
    with pytest.raises(BackendError) as caught:
        connect().unsubscribe("unknown", None)
    assert isinstance(caught.value, SubscriptionUnknown)
