"""The Java face: its Java tests in both APIs, and its table compared with the jars of the APIs."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.conformance.backends import BACKENDS
from integration.conformance.harness import END, JORAM, OWN, JavaTest, execute, java_or_skip

pytestmark = pytest.mark.timeout(900)  # the first test of a suite runs all of them, and fetches the libraries
SUITES = {suite.name: suite for suite in OWN}
CASES = [pytest.param(suite.name, test, id=f"{suite.name}-{test}") for suite in OWN for test in (*suite.tests, END)]


@pytest.mark.parametrize(("suite", "test"), CASES)
@pytest.mark.parametrize("backend", [each.name for each in BACKENDS.values() if each.every_suite])
def test_own(suite: str, test: str, backend: str, java_test: JavaTest) -> None:
    java_test(SUITES[suite], backend, test)
    assert test == END or test in SUITES[suite].tests


@pytest.fixture(scope="module")
def reflection(tmp_path_factory: pytest.TempPathFactory) -> Any:
    java_or_skip()
    folder: Path = tmp_path_factory.mktemp("reflection")
    execute(["integration.conformance.reflection", str(folder / "found.json")], folder / "log")
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))


APIS = pytest.mark.parametrize("api", ["javax.jms", "jakarta.jms"])


@APIS
def test_no_method_is_missing(reflection: Any, api: str) -> None:
    assert reflection[api]["missing"] == []
    assert reflection[api]["methods"] >= 300


@APIS
def test_every_line_of_the_table_is_right(reflection: Any, api: str) -> None:
    assert reflection[api]["wrong"] == []


@APIS
def test_only_optional_interfaces_are_missing(reflection: Any, api: str) -> None:
    """Application servers and XA, which the specification makes optional."""
    xa = {"ConnectionFactory", "Connection", "Session", "JMSContext"}
    xa |= {
        f"{domain}{part}" for domain in ("Queue", "Topic") for part in ("ConnectionFactory", "Connection", "Session")
    }
    servers = {"ConnectionConsumer", "ServerSession", "ServerSessionPool"}
    assert set(reflection[api]["left out"]) == servers | {f"XA{name}" for name in xa}


def test_the_list_of_jorams_tests_is_complete(reflection: Any) -> None:
    assert sorted(JORAM.tests) == sorted(reflection["joram"])
    assert len(set(JORAM.tests)) == 196
