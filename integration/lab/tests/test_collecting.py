"""Which tests a run collects, depending on the available brokers, and which are left to ``make test-brokers``."""

import pytest

from integration.lab.table import KINDS

pytest_plugins = ["pytester"]

CONFTEST = f"""
from integration.lab.collecting import pytest_collection_modifyitems
from integration.lab.fixtures import own_broker, {", ".join(KINDS)}
"""
CASES = """
import pytest

def test_shared(rabbitmq): ...
@pytest.mark.broker("pulsar")
def test_marked(): ...
@pytest.mark.broker("rabbitmq")
@pytest.mark.level("contract")
def test_contract(): ...
def test_none(): ...
"""
INI = "[pytest]\nmarkers =\n  broker(name)\n  level(name)\n  server\n  timeout(seconds)"


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A run of pytest on a machine without brokers."""
    for variable in (*(each.variable for each in KINDS.values()), "JMSBRIDGE_REQUIRE_BROKERS", "JMSBRIDGE_BROKERS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("JMSBRIDGE_BROKERS_CACHE", str(pytester.path / "cache"))
    pytester.makeini(INI)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(CASES)
    return pytester


def _collected(inner: pytest.Pytester, *arguments: str) -> list[str]:
    ran = inner.runpytest_inprocess("--collect-only", "-q", "-p", "no:randomly", *arguments)
    return [line.split("::")[1] for line in ran.outlines if "::" in line]


def test_tests_without_their_broker_are_not_collected(inner: pytest.Pytester) -> None:
    assert _collected(inner) == ["test_none"]


def test_an_external_server_counts_as_a_broker(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_RABBITMQ_URL", "rabbitmq://there")
    assert _collected(inner) == ["test_shared", "test_contract", "test_none"]


def test_everything_is_collected_where_brokers_are_required(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JMSBRIDGE_REQUIRE_BROKERS", "1")
    assert _collected(inner) == ["test_shared", "test_marked", "test_contract", "test_none"]


def test_the_contract_level_is_not_marked_server(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_REQUIRE_BROKERS", "1")
    assert _collected(inner, "-m", "not server") == ["test_contract", "test_none"]
    assert _collected(inner, "-m", "server") == ["test_shared", "test_marked"]
