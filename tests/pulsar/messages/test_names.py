"""Names of destinations as names of topics and back; what Pulsar takes for a name was tried on a broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.spi import Address, AddressRefused
from jmsbridge_pulsar.messages.names import Names

NAMES = Names()
HOME = "persistent://public/default/"
PIECES = st.sampled_from(
    ["/", "%", "%2F", "%25", "25", "2F", "2D", "-partition-1", "partition-1", ".", "\0", "_", "__"]
)
ANY = st.one_of(
    st.text(min_size=1),
    st.lists(st.one_of(PIECES, st.text(max_size=2)), min_size=1, max_size=6).map("".join).filter(bool),
    st.sampled_from(["__change_events", "a__transaction_pending_ack", "..", "persistent:/x"]),
)


@given(name=ANY)
def test_every_name_has_a_topic_of_its_own(name: str) -> None:
    full = NAMES.full(name)
    local = full.removeprefix(HOME)
    assert local
    assert not set(local) & {"/", "\0"}
    assert NAMES.short(full) == name


@given(local=ANY.filter(lambda text: not set(text) & {"/", "\0"}))
def test_every_topic_has_a_name(local: str) -> None:
    assert NAMES.full(NAMES.short(HOME + local)) == HOME + local


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("orders", "orders"),
        ("a b:c?d=é#世", "a b:c?d=é#世"),
        ("100%", "100%"),
        ("a%20b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("..", "%2E."),
        ("orders-partition-3", "orders%2Dpartition-3"),
        ("orders-partition-x", "orders-partition-x"),
        ("__change_events", "%5F_change_events"),
        ("bad://x", "bad:%2F%2Fx"),
    ],
)
def test_names_in_the_default_namespace(name: str, local: str) -> None:
    assert NAMES.topic(Address(name)) == HOME + local
    assert Names("acme/eu").topic(Address(name)) == f"persistent://acme/eu/{local}"


@pytest.mark.parametrize(
    ("full", "name"),
    [
        (HOME + "orders", "orders"),
        (HOME + "orders-partition-3", HOME + "orders-partition-3"),
        (HOME + "a%2Db", "persistent://public/default/a%2Db"),
        (HOME + "a/b", HOME + "a/b"),
        (HOME, HOME),
        ("non-persistent://public/default/a", "non-persistent://public/default/a"),
        ("persistent://public/defaults/a", "persistent://public/defaults/a"),
        (HOME + "persistent:%2F%2Fpublic", HOME + "persistent:%2F%2Fpublic"),
        ("", ""),
    ],
)
def test_names_of_topics(full: str, name: str) -> None:
    assert NAMES.short(full) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a\ud800",
        "persistent://",
        "persistent://a/b",
        "persistent://a/b/",
        "persistent://a/b/c/d",
        "persistent://a b/c/d",
        "non-persistent:///c/d",
        "persistent://a/b/c\0",
        "persistent://a/b/\ud800",
    ],
)
def test_what_cannot_be_a_topic_is_refused(name: str) -> None:
    with pytest.raises(AddressRefused):
        NAMES.topic(Address(name))


@pytest.mark.parametrize("name", ["persistent://acme/eu/orders", "non-persistent://public/default/a-partition-0"])
def test_full_names_are_kept(name: str) -> None:
    assert NAMES.topic(Address(name)) == name
    assert NAMES.short(name) == name


@pytest.mark.parametrize("namespace", ["", "public", "public/default/x", "a b/c", "persistent://public/default"])
def test_what_is_not_a_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(ValueError, match="tenant/namespace"):
        Names(namespace)
