from pathlib import Path

import pytest

from jmsbridge.config import profile_names, resolve
from jmsbridge.errors import ConfigurationError

SECRET = "hun:ter/2@#?"


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "jmsbridge.toml"
    path.write_text(text, encoding="utf-8")
    return path


ORDERS = """
[profiles.orders]
url = "stub://a,stub://b?prefetch=5"
user = "app"
password = "${env:ORDERS_PASSWORD}"
send_window = 7
send_timeout = "250ms"
prefetch = 4
heartbeat = 3
emulation = { delivery_delay = "allow", browse = "refuse" }
"""


def test_a_profile_gives_target_and_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, ORDERS)
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    target = resolve("orders", {"send_window": 9, "emulation": {"browse": "allow"}})
    assert [(e.host, e.user, e.password) for e in target.endpoints] == [("a", "app", SECRET), ("b", "app", SECRET)]
    assert (target.options.send_window, target.options.prefetch, target.options.send_timeout) == (9, 5, 0.25)
    assert target.options.emulation == {"delivery_delay": "allow", "browse": "allow"}
    origin = f"profile 'orders' ({path})"
    assert (target.origins["send_window"], target.origins["prefetch"]) == ("call", f"URL of {origin}")
    assert target.origins["send_timeout"] == target.origins["heartbeat"] == target.origins["target"] == origin
    assert SECRET not in repr(target) + repr(target.settings())


def test_credentials_of_a_profiles_url_come_from_the_profile(tmp_path: Path) -> None:
    path = write(tmp_path, "[profiles.g2]\nurl='stub://app:pw@host'")
    settings = resolve("g2").settings()
    origin = f"URL of profile 'g2' ({path})"
    assert (settings["user"], settings["password"]) == (("app", origin), ("***", origin))


def test_the_file_is_looked_for_in_three_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "user" / "jmsbridge", "[profiles.a]\nurl='stub://user'\n[profiles.c]\nurl='stub://user'")
    assert resolve("a").endpoints[0].host == "user"
    write(tmp_path, "[profiles.a]\nurl='stub://cwd'\n[profiles.b]\nurl='stub://cwd'")
    assert resolve("a").endpoints[0].host == "cwd"
    named = write(tmp_path / "named", "[profiles.a]\nurl='stub://named'")
    monkeypatch.setenv("JMSBRIDGE_CONFIG", str(named))
    assert [resolve(name).endpoints[0].host for name in "abc"] == ["named", "cwd", "user"]
    assert profile_names() == ["a", "b", "c"]


def test_the_environment_may_name_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "[profiles.a]\nurl=['stub://x', 'stub://y']")
    monkeypatch.setenv("JMSBRIDGE_URL", "a")
    assert [endpoint.host for endpoint in resolve().endpoints] == ["x", "y"]


def test_secrets_from_files(tmp_path: Path) -> None:
    (tmp_path / "pass.txt").write_text(SECRET + "\n", encoding="utf-8")
    write(tmp_path, "[profiles.a]\nurl='stub://host'\npassword='${file:pass.txt}'")
    assert resolve("a").endpoints[0].password == SECRET


def test_a_secret_inside_a_url_may_hold_any_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P", SECRET)
    monkeypatch.setenv("U", "stub://me:pw@other:7")
    write(tmp_path, "[profiles.a]\nurl='stub://me:${env:P}@host'\n[profiles.b]\nurl='${env:U}'")
    assert (resolve("a").endpoints[0].host, resolve("a").endpoints[0].password) == ("host", SECRET)
    assert (resolve("b").endpoints[0].host, resolve("b").endpoints[0].port) == ("other", 7)


def test_a_url_of_the_call_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P", "x")
    assert resolve("stub:?broker=${env:P}").settings()["broker"] == ("${env:P}", "URL")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[profiles.ordres]\nurl='stub:'", "did you mean 'ordres'?"),
        ("[profile.orders]\nurl='stub:'", "did you mean 'profiles'?"),
        ("[profiles.orders]\nuser='x'", "needs a url"),
        ("[profiles.orders]\nurl=3", "needs a url"),
        ("[profiles.orders]\nurl=[]", "needs a url"),
        ("[profiles]\norders='stub:'", "must be a table"),
        ("profiles = 3", "must be a table"),
        ("[profiles.orders", "is not valid TOML"),
        ("[profiles.orders]\nurl='stub:'\nprefetsch=3", "did you mean 'prefetch'?"),
        ("[profiles.orders]\nurl='stub:'\npassword='${env:NOT_THERE}'", "no variable 'NOT_THERE'"),
        ("[profiles.orders]\nurl='stub:'\npassword='${file:not/there}'", "cannot read the secret in 'not/there'"),
        ("[profiles.orders]\nurl='stub:'\npassword='${vault:x}'", "is not a reference"),
        ("[profiles.orders]\nurl='stub:'\nuser=3", "must be text"),
        ("[profiles.orders]\nurl='stub:'\nprefetch='many'", "cannot be 'many'"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, text: str, expected: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        resolve("orders")
    assert expected in str(caught.value)


def test_a_secret_in_the_wrong_place_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P", "hunter2")
    write(tmp_path, "[profiles.a]\nurl='stub:'\nprefetch='${env:P}'")
    with pytest.raises(ConfigurationError, match=r"cannot be \*\*\*") as caught:
        resolve("a")
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_named_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(ConfigurationError, match=r"none\.toml"):
        resolve("orders")
