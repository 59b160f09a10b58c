"""`jmsbridge migrate` finds the calls that class files have: of our own Java tests and of published programs."""

import subprocess
import sys
from pathlib import Path

import pytest

from integration.conformance.harness import java_or_skip
from integration.conformance.jars import HERE, compiled
from integration.conformance.javap import Call, compiled_calls
from integration.conformance.published import PROGRAMS, Program
from integration.lab.errors import BrokerUnavailable
from jmsbridge.app import App
from jmsbridge.java_api import INTERFACES
from jmsbridge.migrate import Project, read_project

pytestmark = pytest.mark.timeout(400)

SOURCES = sorted((HERE / "java").glob("*.java"))
LISTENERS = {"MessageListener", "ExceptionListener", "CompletionListener"}
OF_THE_API = {*INTERFACES, *LISTENERS, "QueueRequestor", "TopicRequestor"}
OF_EVERY_OBJECT = {"toString", "equals", "hashCode", "getClass"}
OF_EVERY_EXCEPTION = {"initCause", "getCause", "printStackTrace", "getLocalizedMessage", "addSuppressed"}


def found_calls(project: Project) -> set[Call]:
    """The calls of methods of the API itself in the report, without those of Spring."""
    calls = set()
    for each in project.findings:
        owner, _, method = each.java.partition("(")[0].rpartition(".")
        if each.kind == "call" and (owner in OF_THE_API or owner.endswith("Exception")):
            calls.add(Call(Path(each.file).name, each.line, method))
    return calls


def unexplained(called: set[Call], project: Project) -> set[Call]:
    """The calls that the report lacks, without those that are not in the sources or are not of the API."""
    texts = {path.name: path.read_text(encoding="utf-8").splitlines() for path in project.root.rglob("*.java")}
    resources = {Path(each.file).name for each in project.findings if each.java.startswith("try (")}
    return {
        call
        for call in called - found_calls(project)
        if call.method not in OF_EVERY_OBJECT | OF_EVERY_EXCEPTION
        # javac closes what a `try` opened, in lines that do not say so
        and not (call.method == "close" and call.file in resources and "close" not in texts[call.file][call.line - 1])
    }


@pytest.mark.parametrize("api", ["jakarta.jms", "javax.jms"])
def test_every_call_of_our_own_tests_is_found(api: str, tmp_path: Path) -> None:
    java_or_skip()
    # The messages of another implementation are classes of the newer API alone.
    sources = [path for path in SOURCES if api == "jakarta.jms" or path.name != "ForeignTest.java"]
    called, referred = compiled_calls(compiled(sources, api))
    for path in sources:
        text = path.read_text(encoding="utf-8").replace("jakarta.jms", api)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    project = read_project(tmp_path)
    assert project.problems == []
    assert len(called) > 300
    assert unexplained(called, project) == set()
    assert {call.method for call in found_calls(project) - called} <= referred


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: program.name)
def published(request: pytest.FixtureRequest) -> tuple[Path, Project]:
    """The class files of a program, and what was found in its sources."""
    program: Program = request.param
    try:
        classes, sources = program.fetched()
    except BrokerUnavailable as error:
        pytest.skip(str(error))
    return classes, read_project(sources)


def test_every_call_of_a_published_program_is_found(published: tuple[Path, Project]) -> None:
    classes, project = published
    called, referred = compiled_calls(classes)
    assert len(called) > 60
    assert unexplained(called, project) == set()
    # For javap these are calls of a client's connection factory, or of a listener of the program itself.
    others = {"createConnection", "onMessage", "onException"}
    assert {call.method for call in found_calls(project) - called} <= referred | others


def test_skeletons_of_a_published_program_can_be_started(published: tuple[Path, Project], tmp_path: Path) -> None:
    _, project = published
    command = [sys.executable, "-m", "jmsbridge", "migrate", str(project.root), "--skeletons", str(tmp_path / "made")]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    modules = sorted((tmp_path / "made").glob("*.py"))
    assert modules
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *map(str, modules)]
    checked = subprocess.run(mypy, capture_output=True, text=True, timeout=200)
    assert checked.returncode == 0, checked.stdout
    for module in modules:
        found: dict[str, object] = {"__name__": module.stem}
        exec(compile(module.read_text(encoding="utf-8"), module, "exec"), found)
        if isinstance(app := found.get("app"), App):
            assert app.listeners
            app.start("embedded:")
            app.stop()
