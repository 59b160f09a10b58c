"""Which tests a run collects, by the brokers that this machine has, and which it leaves to ``make test-brokers``."""

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


def test_what_has_no_broker_here_is_not_collected(inner: pytest.Pytester) -> None:
    assert _collected(inner) == ["test_none"]


def test_a_server_of_somebody_else_counts(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_RABBITMQ_URL", "rabbitmq://there")
    assert _collected(inner) == ["test_shared", "test_contract", "test_none"]


def test_where_brokers_are_required_all_is_collected(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_REQUIRE_BROKERS", "1")
    assert _collected(inner) == ["test_shared", "test_marked", "test_contract", "test_none"]


def test_the_contract_level_is_not_left_to_the_other_lane(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JMSBRIDGE_REQUIRE_BROKERS", "1")
    assert _collected(inner, "-m", "not server") == ["test_contract", "test_none"]
    assert _collected(inner, "-m", "server") == ["test_shared", "test_marked"]
