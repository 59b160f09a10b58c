import socket
import threading
import traceback
from datetime import timedelta
from typing import Any

import pytest

from jmsbridge.config import Options, Target, resolve
from jmsbridge.errors import ConfigurationError, JMSError
from jmsbridge.spi import registry
from tests.config.stub import StubOptions

SECRET = "hunter2"


def backend_options(target: Target) -> StubOptions:
    assert isinstance(target.backend_options, StubOptions)
    return target.backend_options


def test_nothing_given_means_the_embedded_broker() -> None:
    target = resolve(None, {})
    assert target.scheme == "embedded"
    assert target.options == Options()
    assert target.origins["target"] == "default"
    assert set(target.origins.values()) == {"default"}


def test_the_environment_names_the_default_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_URL", "stub://host")
    target = resolve()
    assert target.endpoints[0].host == "host"
    assert target.origins["target"] == "$JMSBRIDGE_URL"


def test_an_empty_variable_is_no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_URL", "")
    assert resolve().scheme == "embedded"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("2s", 2.0), ("1m", 60.0), ("2h", 7200.0), ("1.5", 1.5), (".5s", 0.5), ("0", 0)],
)
def test_durations_in_text(text: str, seconds: float) -> None:
    assert resolve(f"stub:?send_timeout={text}&heartbeat={text}").options.send_timeout == pytest.approx(seconds)
    assert backend_options(resolve(f"stub:?heartbeat={text}")).heartbeat == pytest.approx(seconds)


def test_durations_in_calls() -> None:
    options = resolve(
        "stub:", {"send_timeout": timedelta(minutes=1), "close_timeout": 2, "connect_timeout": 0.5}
    ).options
    assert (options.send_timeout, options.close_timeout, options.connect_timeout) == (60.0, 2.0, 0.5)


def test_every_wait_of_the_platform_takes_the_longest_duration() -> None:
    longest = resolve("stub:?send_timeout=2147483647ms&connect_timeout=2147483647ms").options
    with socket.socket() as unused:
        unused.settimeout(longest.connect_timeout)
    assert threading.Lock().acquire(timeout=longest.send_timeout)
    assert threading.Condition().acquire(timeout=longest.send_timeout)
    with pytest.raises(
        ConfigurationError, match=r"'send_timeout' \(URL\) cannot be '2147483648ms': expected seconds <="
    ):
        resolve("stub:?send_timeout=2147483648ms")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("send_timeout", "2 weeks"),
        ("send_timeout", "-1"),
        ("send_timeout", "inf"),
        ("send_timeout", float("nan")),
        ("send_timeout", -0.1),
        ("send_timeout", True),
        ("send_timeout", None),
        ("send_timeout", "1e30"),
        ("close_timeout", timedelta(days=25)),
        ("redelivery_delay", 1e10),
        ("connect_timeout", "30d"),
        ("connect_timeout", 0),
        ("connect_timeout", "0ms"),
        ("prefetch", -1),
        ("prefetch", "many"),
        ("prefetch", 1.5),
        ("prefetch", True),
        ("send_window", 0),
        ("resend", "perhaps"),
        ("resend", 3),
        ("emulation", "maybe"),
        ("emulation", {"browse": "perhaps"}),
        ("client_id", 7),
        ("reconnect_attempts", "-2"),
        ("max_redeliveries", "-2"),
        ("max_redeliveries", True),
        ("send_timeout", "unlimited"),
        ("redelivery_factor", 0.5),
        ("redelivery_factor", "2s"),
        ("redelivery_delay_max", "-2"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"option '{name}' \(call\)"):
        resolve("stub:", {name: value})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("resend", "true", True),
        ("resend", "False", False),
        ("prefetch", "17", 17),
        ("reconnect_attempts", "none", None),
        ("reconnect_attempts", "3", 3),
        ("reconnect_attempts", "-1", None),
        ("reconnect_attempts", "unlimited", None),
        ("max_redeliveries", "Unlimited", -1),
        ("max_redeliveries", "-1", -1),
        ("confirmation_window_size", "unlimited", None),
        ("redelivery_delay_max", "unlimited", 2_147_483.647),
        ("redelivery_delay_max", "-1", 2_147_483.647),
        ("redelivery_delay_first", "250ms", 0.25),
        ("redelivery_factor", "1.5", 1.5),
        ("confirmation_window_size", "65536", 65536),
        ("emulation", "refuse", "refuse"),
        ("client_id", "none", "none"),
        ("client_id", "17", "17"),
    ],
)
def test_text_becomes_typed_values(name: str, text: str, value: object) -> None:
    assert getattr(resolve(f"stub:?{name}={text}").options, name) == value


def test_emulation_by_feature_in_a_url() -> None:
    options = resolve("stub:?emulation.delivery_delay=allow&emulation.browse=refuse").options
    assert options.emulation == {"delivery_delay": "allow", "browse": "refuse"}


@pytest.mark.parametrize(
    ("target", "overrides", "expected"),
    [
        ("stub:?prefetsch=5", {}, "'prefetsch' (URL): did you mean 'prefetch'?"),
        ("stub:", {"sendtimeout": 1}, "'sendtimeout' (call): did you mean 'send_timeout'?"),
        ("stub:?Broker=x", {}, "did you mean 'broker'?"),
        ("stub:", {"passwort": "x"}, "did you mean 'password'?"),
        ("stub:?emulation.brows=allow", {}, "did you mean 'browse'?"),
        ("stub:?zzz=1", {}, "known options of stub: "),
        ("stob:", {}, "unknown scheme 'stob': did you mean 'stub'?"),
        ("embeded:", {}, "unknown scheme 'embeded': did you mean 'embedded'?"),
        ("qqqq:", {}, "known schemes: "),
        ("rabbitmq:h", {}, "two slashes"),
        ("orders", {}, "unknown profile 'orders'"),
    ],
)
def test_unknown_names_get_the_nearest_as_advice(target: str, overrides: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(target, overrides)
    assert expected in str(caught.value)
    assert isinstance(caught.value, JMSError)
    assert isinstance(caught.value, ValueError)


def test_a_backend_without_its_client_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(scheme: str) -> Any:
        raise ImportError("No module named 'pika'", name="pika")

    monkeypatch.setattr(registry, "load", lacks)
    with pytest.raises(
        ConfigurationError, match=r"lacks its client library .*pika.*pip install 'jmsbridge\[rabbitmq\]'"
    ):
        resolve("rabbitmqs://h")
    with pytest.raises(ConfigurationError, match=r"pip install 'jmsbridge\[amqp\]'; for RabbitMQ, write rabbitmqs://"):
        resolve("amqps://h")


def test_the_call_wins_over_the_url() -> None:
    target = resolve("stub://u:p@host?prefetch=5&resend=true", {"prefetch": 7, "user": "me", "password": None})
    assert target.options.prefetch == 7
    assert target.options.resend is True
    assert target.origins["prefetch"] == "call"
    assert target.origins["resend"] == "URL"
    assert target.origins["send_timeout"] == "default"
    assert (target.endpoints[0].user, target.endpoints[0].password) == ("me", "p")


def test_failover_lists_share_their_options() -> None:
    for target in (
        resolve("stub://a:1,stub://b?prefetch=3"),
        resolve(["stub://a:1", "stub://b?prefetch=3"]),
        resolve(("stub://a:1,stub://b?prefetch=3",)),
    ):
        assert [(endpoint.host, endpoint.port) for endpoint in target.endpoints] == [("a", 1), ("b", None)]
        assert target.options.prefetch == 3


def test_each_member_of_a_list_may_have_its_own_user() -> None:
    target = resolve("stub://x:1@a,stub://b", {})
    assert [endpoint.user for endpoint in target.endpoints] == ["x", None]


@pytest.mark.parametrize(
    "target",
    [[], ["stub://a", "stub+tls://b"], ["stub://a?prefetch=1", "stub://b?prefetch=2"], ["stub://a", "orders"], [""]],
)
def test_bad_lists_are_refused(target: list[str]) -> None:
    with pytest.raises(ConfigurationError):
        resolve(target)


@pytest.mark.parametrize("target", ["", " ", 17, [17], b"stub:"])
def test_targets_of_the_wrong_kind_are_refused(target: Any) -> None:
    with pytest.raises(ConfigurationError):
        resolve(target)


def test_the_client_id_belongs_to_every_endpoint() -> None:
    target = resolve("stub://a,stub://b", {"client_id": "me"})
    assert [endpoint.client_id for endpoint in target.endpoints] == ["me", "me"]


def test_a_backend_gets_the_value_of_an_option_that_it_shares_with_the_facade() -> None:
    assert backend_options(resolve("stub:?connect_timeout=7s")).connect_timeout == 7.0
    assert backend_options(resolve("stub:")).connect_timeout == Options().connect_timeout


def test_no_text_of_a_target_shows_a_secret() -> None:
    target = resolve(f"stub://me:{SECRET}@host?key_password={SECRET}", {"password": SECRET})
    assert target.endpoints[0].password == SECRET
    assert backend_options(target).key_password == SECRET
    assert SECRET not in repr(target) + str(target) + repr(target.settings()) + repr(target.endpoints)
    assert target.settings()["key_password"] == ("***", "URL")
    assert target.settings()["password"] == ("***", "call")
    assert target.settings()["user"] == ("me", "URL")
    assert resolve("stub:").settings()["password"] == (None, "default")


@pytest.mark.parametrize(
    ("target", "overrides"),
    [
        (f"stub://me:{SECRET}@host?prefetsch=1", {}),
        (f"stub://me:{SECRET}@host?prefetch=x", {}),
        (f"stub://me:{SECRET}@host,stub+tls://me:{SECRET}@host", {}),
        (f"nope://me:{SECRET}@host", {}),
        (f"stub://me:{SECRET}@host?prefetch=1,stub://me:{SECRET}@b?prefetch=2", {}),
        (f"stub:?password={SECRET}&x=1", {}),
        ("stub:", {"password": [SECRET]}),
        ("stub:", {"key_password": [SECRET]}),
    ],
)
def test_no_error_shows_a_secret(target: str, overrides: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(target, overrides)
    assert SECRET not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)
