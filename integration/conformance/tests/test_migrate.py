"""`jmsbridge migrate` finds the calls that javac compiles: those of our own Java tests, in both APIs."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from integration.conformance.harness import java_or_skip
from integration.conformance.jars import HERE, compiled
from jmsbridge.migrate import read_project

SOURCES = sorted((HERE / "java").glob("*.java"))


def _compiled_calls(folder: Path, api: str) -> tuple[Counter[str], set[str]]:
    """The names of the methods that the classes call, and those of method references, which are called elsewhere."""
    javap = shutil.which("javap")
    assert javap is not None
    classes = sorted(map(str, folder.rglob("*.class")))
    text = subprocess.run([javap, "-p", "-v", *classes], capture_output=True, text=True, check=True, timeout=100).stdout
    path = re.escape(api.replace(".", "/"))
    called = re.findall(rf"^ +\d+: invoke\w+ .*Method {path}/\w+\.(\w+):", text, re.MULTILINE)
    referred = re.findall(rf"REF_invoke\w+ {path}/\w+\.(\w+):", text)
    return Counter(called), set(referred)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("api", ["jakarta.jms", "javax.jms"])
def test_every_compiled_call_is_found(api: str, tmp_path: Path) -> None:
    java_or_skip()
    # The messages of another implementation are classes of the newer API alone.
    sources = [path for path in SOURCES if api == "jakarta.jms" or path.name != "ForeignTest.java"]
    called, referred = _compiled_calls(compiled(sources, api), api)
    for path in sources:
        text = path.read_text(encoding="utf-8").replace("jakarta.jms", api)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    project = read_project(tmp_path)
    assert project.problems == []
    calls = [each.java for each in project.findings if each.kind == "call"]
    resources = sum(java.startswith("try (") for java in calls)
    found = Counter(java.partition("(")[0].rpartition(".")[2] for java in calls if not java.startswith("try ("))
    assert sum(found.values()) > 300
    # javac closes what a `try` opened: at its end, and after an exception.
    assert (called - found).keys() <= {"close"}
    assert (called - found)["close"] <= 2 * resources
    assert (found - called).keys() <= referred
