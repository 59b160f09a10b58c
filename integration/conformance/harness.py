"""How pytest runs Java tests: one Java process for all tests of a suite on one broker, started by the first worker."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from integration.conformance.jars import HERE, classpath
from integration.lab.errors import BrokerUnavailable

__all__ = ["END", "JORAM", "OWN", "JavaTest", "Suite", "execute", "java_or_skip", "outcome"]

END = "the end"
"""The name of a pseudo test: the whole run had no unexpected error and left no thread."""

_LONGEST = 600.0  # seconds for all tests of a suite
_TEST = re.compile(r"@Test\s+public void (\w+)")


@dataclass(frozen=True)
class Suite:
    """Java tests: their full names, the API that they use, and the sources to compile."""

    name: str
    api: str
    tests: tuple[str, ...]
    sources: tuple[str, ...] = ()


JavaTest = Callable[[Suite, str, str], None]
"""The fixture ``java_test``: runs one test of a suite on a backend."""


def _own(name: str, api: str, *classes: str) -> Suite:
    texts = {each: (HERE / "java" / f"{each}.java").read_text(encoding="utf-8") for each in classes}
    tests = tuple(f"{each}.{method}" for each, text in texts.items() for method in _TEST.findall(text))
    return Suite(f"{name} {api}", api, tests, tuple(f"{each}.java" for each in ("Support", *classes)))


_JORAM_TESTS = (HERE / "joram.txt").read_text(encoding="utf-8").split()
JORAM = Suite("joram", "javax.jms", tuple(f"org.objectweb.jtests.jms.conform.{name}" for name in _JORAM_TESTS))
"""Joram's JMS tests."""
_FACE = ("ErrorsTest", "ListenersTest", "SimplifiedTest", "ValuesTest")
OWN = [
    _own("own", "javax.jms", *_FACE),
    _own("own", "jakarta.jms", *_FACE),
    _own("foreign", "jakarta.jms", "ForeignTest"),
]
"""The tests of the face itself, for both APIs, and with the foreign messages of the Jakarta Messaging TCK."""


def java_or_skip() -> None:
    """Skip the test because Java is missing, or fail if everything is required."""
    why = _missing()
    if why and os.environ.get("JMSBRIDGE_REQUIRE_BROKERS", "0") not in ("", "0"):
        pytest.fail(f"{why} (required by JMSBRIDGE_REQUIRE_BROKERS)", pytrace=False)
    if why:
        pytest.skip(why)


@cache
def _missing() -> str:
    """Why Java cannot run here; empty if it can. Cached, because the check may download libraries."""
    try:
        classpath()
    except BrokerUnavailable as why:
        return f"the Java conformance tests: {why}"
    return ""


def execute(arguments: Sequence[str], log: Path, url: str = "embedded:") -> None:
    """Run a module of this package in a separate process group, which is killed if it takes too long."""
    root = HERE.parents[1]
    path = os.pathsep.join(str(each) for each in (root, root / "backends"))
    # The URL may hold a password, so it is not on the command line.
    environment = os.environ | {"PYTHONPATH": path, "JMSBRIDGE_URL": url}
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=root,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(_LONGEST)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


def outcome(suite: Suite, test: str, url: str, backend: str, wanted: Sequence[str], folder: Path) -> dict[str, Any]:
    """The outcome of one test, or of the whole run (``END``); runs all wanted tests unless that was done before."""
    java_or_skip()
    name = re.sub(r"\W+", "-", f"{suite.name}-{backend}")
    results, log = folder / f"{name}.jsonl", folder / f"{name}.log"
    with (folder / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not results.exists():
            results.touch()
            sources = [part for source in suite.sources for part in ("--source", str(HERE / "java" / source))]
            arguments = ["--api", suite.api, "--results", str(results), *sources, *wanted]
            execute(["integration.conformance.run", *arguments], log, url)
    for line in results.read_text(encoding="utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        if record["test"] == test:
            return record
    ending = log.read_text(encoding="utf-8", errors="replace")[-4000:] if log.exists() else ""
    return {"test": test, "trace": f"the Java process ended before that:\n{ending}", "seconds": 0.0}
