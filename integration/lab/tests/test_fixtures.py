"""The fixtures for real brokers on a machine without brokers, and with external servers."""

import pytest

from integration.lab.errors import BrokerError
from integration.lab.external import External
from integration.lab.table import KINDS

pytest_plugins = ["pytester"]

CONFTEST = f"from integration.lab.fixtures import own_broker, {', '.join(KINDS)}"
SHARED = "def test_it(rabbitmq):\n    assert rabbitmq.url() == 'rabbitmq://there'"
OWN = "def test_it(own_broker):\n    own_broker('pulsar')"


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A run of pytest with an empty cache and no settings."""
    addresses = [each.variable for each in KINDS.values()]
    for variable in (*addresses, "JMSBRIDGE_REQUIRE_BROKERS", "JMSBRIDGE_BROKERS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("JMSBRIDGE_BROKERS_CACHE", str(pytester.path / "cache"))
    pytester.makeconftest(CONFTEST)
    return pytester


@pytest.mark.parametrize(
    ("code", "title"),
    [(OWN, "Apache Pulsar"), *((f"def test_it({each.name}): ...", each.title) for each in KINDS.values())],
)
def test_a_broker_that_is_not_fetched_is_skipped_with_the_remedy(inner: pytest.Pytester, code: str, title: str) -> None:
    inner.makepyfile(code)
    result = inner.runpytest_inprocess("-rs", "-p", "no:randomly")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED*{title} is not fetched: `make brokers` fetches it"])


@pytest.mark.parametrize("code", [SHARED, OWN])
def test_a_missing_broker_fails_where_brokers_are_required(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setenv("JMSBRIDGE_REQUIRE_BROKERS", "1")
    inner.makepyfile(code)
    result = inner.runpytest_inprocess("-p", "no:randomly")
    outcomes = result.parseoutcomes()
    assert outcomes.get("errors", 0) + outcomes.get("failed", 0) == 1
    result.stdout.fnmatch_lines(["*`make brokers` fetches it (required by JMSBRIDGE_REQUIRE_BROKERS)*"])


def test_an_external_server_is_used(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_RABBITMQ_URL", "rabbitmq://there")
    inner.makepyfile(SHARED)
    inner.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=1)


def test_an_external_server_has_only_its_url() -> None:
    server = External(KINDS["rabbitmq"], "rabbitmqs://app:secret@there")
    assert server.url() == server.url("rabbitmqs") == "rabbitmqs://app:secret@there"
    assert "secret" not in repr(server)
    with pytest.raises(BrokerError, match="JMSBRIDGE_RABBITMQ_URL names a server with rabbitmqs, not with amqp"):
        server.url("amqp")


def test_administration_of_an_external_server_is_refused() -> None:
    server = External(KINDS["rabbitmq"], "rabbitmq://there")
    for name in ("admin", "ctl", "kill", "restart", "certificates"):
        with pytest.raises(BrokerError, match=f"JMSBRIDGE_RABBITMQ_URL names is external: no `{name}` here"):
            getattr(server, name)
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(server, "nonsense")  # noqa: B009  # a fixed name would be a finding of mypy's


def test_a_variable_without_a_url_is_named_without_its_value(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JMSBRIDGE_RABBITMQ_URL", "jb:jbpass@127.0.0.1")
    inner.makepyfile(SHARED)
    result = inner.runpytest_inprocess("-p", "no:randomly")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*JMSBRIDGE_RABBITMQ_URL must begin with one of rabbitmq://, rabbitmqs://, amqp://,*"])
    assert "jbpass" not in result.stdout.str()
