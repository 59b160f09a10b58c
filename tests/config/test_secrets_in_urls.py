"""A password is never shown, however the URL that holds it is mistyped."""

import contextlib
import io
import logging
import traceback
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import jmsbridge
from jmsbridge.cli import app
from jmsbridge.config import mask_url, resolve
from jmsbridge.config.java import import_text
from jmsbridge.errors import JMSError

SCHEMES = ("rabbitmq", "rabbitmqs", "amqp", "stub", "embedded", "nothing", "tcp", "failover", "")
MIDDLE = st.text(alphabet="abcXYZ019@/:?#&=%,;+ .()[]{}<>'\"\\$!\u00fc\u2028\x07", max_size=6)


@st.composite
def mistyped(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """A URL with a password somewhere before its host, and the parts that must be hidden."""
    password = f"qzv{draw(MIDDLE)}wkj"
    scheme = draw(st.sampled_from(SCHEMES))
    slashes = draw(st.sampled_from(("", "/", "//", "///", ":/", "//:")))
    user = draw(st.sampled_from(("user", "a.user", "me%40corp", "")))
    behind = draw(
        st.sampled_from(("", ":5672", ":5672/vhost", "/vhost", "?prefetch=5", "/a%40b", ":x", ",rabbitmq://b"))
    )
    return f"{scheme}{':' if scheme else ''}{slashes}{user}:{password}@host{behind}", ("qzv", "wkj")


def _told(action: object) -> str:
    """All text that a call produces: its error with its causes, warnings, and the log."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("jmsbridge").addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert callable(action)
            try:
                result = repr(action())
            except (JMSError, ValueError) as error:
                result = "".join(traceback.format_exception(error, limit=0))
        return result + log.getvalue() + "".join(str(each.message) for each in warned)
    finally:
        logging.getLogger("jmsbridge").removeHandler(handler)


@given(mistyped())
@example(("rabbitmq:/user:qzvwkj@host", ("qzvwkj",)))
@example(("rabbitmq:user:qzvwkj@host", ("qzvwkj",)))
@example(("//user:qzvwkj@host", ("qzvwkj",)))
@example(("rabbitmq://user:qz@v/w:kj@host", ("v/w:kj", "w:kj")))
@example(("user:qzv:wkj@host", ("qzv", "wkj")))
@example(("rabbitmq://user:qz@v?wk=j@host", ("wk", "v?wk")))
def test_no_text_about_a_mistyped_url_has_its_password(case: tuple[str, tuple[str, ...]]) -> None:
    url, parts = case
    for target in (url, [url], f" {url}", f"rabbitmq://a,{url}"):
        told = _told(lambda target=target: resolve(target))
        assert not [part for part in parts if part in told], told
    assert not [part for part in parts if part in mask_url(url)]


@given(mistyped())
@example(("amqp:/user:qzv#wkj@host:5672", ("qzv", "wkj")))
@example(("amqp:/user:qzv?=wkj@host", ("qzv", "wkj")))
def test_no_text_of_an_import_has_the_password(case: tuple[str, tuple[str, ...]]) -> None:
    url, parts = case
    told = _told(lambda: import_text(url, "url"))
    assert not [part for part in parts if part in told], told


COMMANDS = [
    ("config", "show", "URL"),
    ("doctor", "URL"),
    ("doctor", "-t", "URL"),
    ("bench", "URL"),
    ("send", "orders", "x", "-t", "URL"),
    ("send", "URL", "x"),
    ("send", "orders", "x", "--reply-to", "URL"),
    ("list", "-t", "URL"),
    ("move", "URL", "orders"),
    ("import", "URL"),
    ("load", "--to", "URL", "/dev/null"),
    ("doctor", "embedded:", "URL"),
    ("nothing", "URL"),
    ("URL",),
    ("list", "-o", "URL"),
    ("list", "--tarjet", "URL"),
    ("receive", "orders", "--timeout", "URL"),
    ("receive", "orders", "--count", "URL"),
    ("export", "orders", "--output", "URL"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "url",
    [
        "rabbitmq:/user:qzv1wkj@127.0.0.1",
        "rabbitmq:user:qzv1wkj@127.0.0.1",
        "//user:qzv1wkj@127.0.0.1",
        "rabbitmq://user:qzv@1/wkj@127.0.0.1",
        "rabbitmq://user:qzv1wkj@127.0.0.1:1",
    ],
)
def test_no_command_shows_the_password(
    command: tuple[str, ...], url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("JMSBRIDGE_URL", "embedded:?broker=secrets")
    result = CliRunner().invoke(app, [url if word == "URL" else word for word in command])
    told = result.output + result.stderr
    assert "qzv" not in told
    assert "wkj" not in told
    assert "Traceback" not in told


def test_a_profile_with_such_a_url_hides_it(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.suppress(OSError), open("jmsbridge.toml", "w", encoding="utf-8") as file:
        file.write('[profiles.a]\nurl = "rabbitmq:/user:qzvwkj@host"\n[profiles.b]\nurl = "//user:qzvwkj@host"\n')
    for name in ("a", "b"):
        assert "qzvwkj" not in _told(lambda name=name: jmsbridge.connect(name))
    shown = CliRunner().invoke(app, ["config", "check"])
    assert shown.exit_code == 2
    assert "qzvwkj" not in shown.output + shown.stderr
