import pytest

from jmsbridge.config.masking import mask_url
from jmsbridge.config.urls import looks_like_url, parse_url, split_urls
from jmsbridge.errors import ConfigurationError

SECRET = "hunter2"


def test_every_part_of_a_url() -> None:
    url = parse_url("AMQPS://me:p%40ss%2Fw@broker.example:5671/a%2Fb?prefetch=5&client_id=x%26y")
    assert (url.scheme, url.host, url.port, url.path) == ("amqps", "broker.example", 5671, "/a%2Fb")
    assert (url.user, url.password) == ("me", "p@ss/w")
    assert url.options == {"prefetch": "5", "client_id": "x&y"}


def test_ipv6_host() -> None:
    url = parse_url("stomp://[::1]:61613")
    assert (url.host, url.port) == ("::1", 61613)


@pytest.mark.parametrize(
    ("text", "path", "options"),
    [
        ("embedded:", "", {}),
        ("embedded:?broker=x", "", {"broker": "x"}),
        ("embedded:folder/my%20file.db", "folder/my file.db", {}),
        ("embedded:/abs/file.db?prefetch=1", "/abs/file.db", {"prefetch": "1"}),
    ],
)
def test_forms_without_host(text: str, path: str, options: dict[str, str]) -> None:
    url = parse_url(text)
    assert (url.scheme, url.host, url.port, url.user) == ("embedded", None, None, None)
    assert url.path == path
    assert url.options == options


def test_a_plus_in_a_value_stays_a_plus() -> None:
    assert parse_url("stub:?broker=a+b").options == {"broker": "a+b"}


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("amqp://a,amqp://b", ["amqp://a", "amqp://b"]),
        ("amqp://a:1 , amqps://b", ["amqp://a:1", "amqps://b"]),
        ("amqp://u:a,b:c@host", ["amqp://u:a,b:c@host"]),
        ("stub:?broker=a,stub:?broker=b", ["stub:?broker=a", "stub:?broker=b"]),
        ("stub:?broker=a,b", ["stub:?broker=a,b"]),
    ],
)
def test_lists_are_split_between_urls_only(text: str, members: list[str]) -> None:
    assert split_urls(text) == members


def test_a_name_is_not_a_url() -> None:
    assert not looks_like_url("orders")
    assert looks_like_url("embedded:")


@pytest.mark.parametrize(
    "text",
    [
        "stub://",
        "stub://me@",
        "stub://a,b",
        "stub://a:b",
        "stub://a:0",
        "stub://a:65536",
        "stub://a:99999999999999999999",
        "stub://a b",
        "stub://[::1",
        "stub:?broker",
        "stub:?=x",
        "stub:?broker=a&broker=b",
        "stub:x#y",
        "no scheme",
    ],
)
def test_malformed_urls_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_url(text)


@pytest.mark.parametrize(
    "text",
    [
        f"stub://me:{SECRET}@",
        f"stub://me:{SECRET}@a:b",
        f"stub://me:{SECRET}@a:1:2",
        f"stub://me:x#{SECRET}@host",
        f"stub://me:x/{SECRET}@host",
        f"stub://me:x?{SECRET}@host",
        f"stub://me:x@{SECRET}@ho st",
        f"stub://me:{SECRET}",
        f"stub://me:1{SECRET}@host#",
        f"stub://host?password={SECRET}&=",
        f"stub://host?key_password={SECRET}&broker",
        f"stub://me:{SECRET}@a,b",
        f"//me:{SECRET}@host",
    ],
)
def test_a_bad_url_never_shows_its_password(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_url(text)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_masking_keeps_what_is_not_secret() -> None:
    assert mask_url(f"amqps://me:{SECRET}@host:5671/x?prefetch=5&password={SECRET}") == (
        "amqps://me:***@host:5671/x?prefetch=5&password=***"
    )
    assert mask_url("embedded:path.db?broker=b") == "embedded:path.db?broker=b"
    assert mask_url("stub://host:99/x") == "stub://host:99/x"


def test_a_parsed_url_does_not_show_its_password() -> None:
    assert SECRET not in repr(parse_url(f"stub://me:{SECRET}@host"))
