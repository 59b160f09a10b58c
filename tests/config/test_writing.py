"""Writing profiles into a configuration file."""

import os
import stat
import tomllib
from pathlib import Path

import pytest

from jmsbridge.config.writing import profile_text, with_profile, write_profile
from jmsbridge.errors import ConfigurationError

ORDERS = {
    "url": ["amqp://a", "amqp://b"],
    "prefetch": 5,
    "send_timeout": 2.5,
    "resend": True,
    "emulation": {"delivery_delay": "allow"},
}


def test_a_profile_reads_back_as_it_was() -> None:
    assert tomllib.loads(profile_text("orders", ORDERS)) == {"profiles": {"orders": ORDERS}}
    strange = {"url": 'a"\\\x7f\n\u2028ü${env:X}'}
    assert tomllib.loads(profile_text("a b.c", strange)) == {"profiles": {"a b.c": strange}}


def test_the_rest_of_the_file_stays() -> None:
    before = "# mine\n[profiles.a]\nurl = 'embedded:'  # here\n"
    after = with_profile(before, "orders", ORDERS)
    assert after.startswith(before)
    assert tomllib.loads(after)["profiles"]["orders"] == ORDERS


def test_a_profile_is_only_replaced_with_force() -> None:
    before = (
        "[profiles.a]\nurl = [\n'x',\n]\n[profiles.a.emulation]\ndelivery_delay = 'allow'\n"
        "# kept\n[profiles.b]\nurl = 'y'\n"
    )
    with pytest.raises(ConfigurationError, match="--force"):
        with_profile(before, "a", {"url": "z"})
    after = with_profile(before, "a", {"url": "z"}, force=True)
    assert tomllib.loads(after) == {"profiles": {"a": {"url": "z"}, "b": {"url": "y"}}}


@pytest.mark.parametrize(
    "before",
    [
        "profiles = { a = { url = 'x' }, b = { url = 'y' } }\n",
        "[profiles]\na.url = 'x'\nb.url = 'y'\n",
        "[profiles.a]\nurl = '''\n[profiles.b]\n'''\nuser='u'\n",
    ],
)
def test_a_profile_that_cannot_be_replaced_safely_is_refused(before: str) -> None:
    with pytest.raises(ConfigurationError, match="by hand"):
        with_profile(before, "a", {"url": "z"}, force=True)


def test_the_file_is_replaced_at_once_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "jmsbridge.toml"
    write_profile(path, "a", {"url": "x"})
    path.chmod(0o600)
    write_profile(path, "b", {"url": "y"})
    assert set(tomllib.loads(path.read_text(encoding="utf-8"))["profiles"]) == {"a", "b"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["jmsbridge.toml"]


def test_a_broken_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "jmsbridge.toml"
    path.write_text("[profiles", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="not valid TOML"):
        write_profile(path, "a", {"url": "x"}, force=True)
    assert path.read_text(encoding="utf-8") == "[profiles"


def test_a_new_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_profile(tmp_path / "jmsbridge.toml", "a", {"url": "x", "password": "hunter2"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "jmsbridge.toml").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660, 0o664])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "jmsbridge.toml"
    path.touch()
    path.chmod(mode)
    write_profile(path, "a", {"url": "x"})
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_tables_of_tables_are_written(tmp_path: Path) -> None:
    profile = {
        "url": "embedded:",
        "redelivery": {"a.b": {"delay": 3, "dead_letter_queue": "x y"}, "*": {"factor": 1.5}},
    }
    path = tmp_path / "jmsbridge.toml"
    write_profile(path, "a", profile)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["profiles"]["a"] == profile
