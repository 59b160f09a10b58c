"""The runner of Java tests with tests that hang, fail or end the process, and on machines without Java."""

import json
import re
import shutil
from pathlib import Path

import pytest

from integration.conformance.harness import END, execute, java_or_skip, outcome
from integration.conformance.harness import Suite as JavaSuite
from integration.conformance.jars import HERE, classpath
from integration.lab.errors import BrokerUnavailable

STUCK = str(HERE / "java" / "Stuck.java")


@pytest.mark.timeout(900)
def test_a_test_that_hangs_is_given_up_and_the_next_one_runs(tmp_path: Path) -> None:
    java_or_skip()
    results = tmp_path / "results"
    options = ["--api", "jakarta.jms", "--source", STUCK, "--patience", "1", "--results", str(results)]
    execute(
        ["integration.conformance.run", *options, "Stuck.waitsForEver", "Stuck.fails", "Stuck.none"], tmp_path / "log"
    )
    hung, failed, missing, end = (json.loads(line) for line in results.read_text(encoding="utf-8").splitlines())
    assert hung["trace"].startswith("hung for 1 s, then given up\n    at ")
    assert "CountDownLatch.await" in hung["trace"]
    assert "meant to fail" in failed["trace"]
    assert "Stuck" in missing["trace"]
    assert (end["test"], end["trace"]) == (END, "")


@pytest.mark.timeout(900)
def test_errors_of_the_face_and_threads_that_stay_fail_the_run(tmp_path: Path) -> None:
    java_or_skip()
    results = tmp_path / "results"
    options = ["--api", "jakarta.jms", "--source", STUCK, "--patience", "5", "--results", str(results)]
    execute(["integration.conformance.run", *options, "Stuck.upsetsTheFace", "Stuck.listensForEver"], tmp_path / "log")
    upset, listening, end = (json.loads(line) for line in results.read_text(encoding="utf-8").splitlines())
    assert "NotImplementedError: notify" in upset["trace"]
    assert listening["trace"] == ""
    assert end["test"] == END
    assert "a connection did not close in 5 s" in end["trace"]
    assert re.search("the thread jmsbridge-.*-deliver did not end", end["trace"])
    assert "NotImplementedError: notify" in end["trace"]


@pytest.mark.timeout(900)
def test_a_test_that_ends_the_process_fails_and_so_do_those_after_it(tmp_path: Path) -> None:
    java_or_skip()
    suite = JavaSuite("stuck", "jakarta.jms", ("Stuck.ends", "Stuck.fails"), ("Stuck.java",))
    records = [outcome(suite, test, "embedded:", "embedded", suite.tests, tmp_path) for test in (*suite.tests, END)]
    assert all(record["trace"].startswith("the Java process ended before that:") for record in records)


@pytest.mark.parametrize("missing", ["java", "javac"])
def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    which = shutil.which
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else which(name))
    with pytest.raises(BrokerUnavailable, match=f"^{missing} is missing: "):
        classpath()


def test_a_missing_jpype_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BrokerUnavailable, match="JPype is missing: pip install"):
        classpath()


def test_without_java_the_tests_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integration.conformance.harness._missing", lambda: "no Java here")
    monkeypatch.delenv("JMSBRIDGE_REQUIRE_BROKERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Java here"):
        java_or_skip()


def test_java_is_required_where_brokers_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integration.conformance.harness._missing", lambda: "no Java here")
    monkeypatch.setenv("JMSBRIDGE_REQUIRE_BROKERS", "1")
    with pytest.raises(pytest.fail.Exception, match=r"no Java here .required by JMSBRIDGE_REQUIRE_BROKERS"):
        java_or_skip()
