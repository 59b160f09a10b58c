"""Java programs are made once, where the brokers are kept, and none of them is waited for without end."""

import os
import sys
from pathlib import Path

import pytest

from integration.interop import program
from integration.interop.program import Running
from integration.lab.errors import BrokerFailed, BrokerUnavailable
from integration.lab.fetching import programs
from integration.lab.fetching.programs import class_path

JAVA = '#!/bin/sh\necho "    java.specification.version = 17" >&2\n'
# Each notes its call, and puts a file where it was told to.
MVN = """#!/bin/sh
echo mvn >> "$CALLS"
for word; do case "$word" in -DoutputDirectory=*) touch "${word#*=}/client.jar";; esac; done
"""
JAVAC = """#!/bin/sh
echo javac >> "$CALLS"
while [ "$1" != -d ]; do shift; done
touch "$2/It.class"
"""


@pytest.fixture
def tools(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with stand-ins for java, javac and mvn, which are all that is found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"java": JAVA, "javac": JAVAC, "mvn": MVN}.items():
        put(folder / name, text)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.defpath}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder


def put(tool: Path, text: str) -> None:
    tool.write_text(text)
    tool.chmod(0o755)


@pytest.fixture
def pom(tmp_path: Path) -> Path:
    (tmp_path / "pom.xml").write_text("<project/>")
    return tmp_path / "pom.xml"


def test_made_once_where_the_brokers_are_kept(tools: Path, cache: Path, pom: Path, tmp_path: Path) -> None:
    classes, jars = class_path("it", pom, {"It.java": "class It {}"}).split(os.pathsep)
    assert Path(classes).parent == Path(jars).parent.parent == cache / "installed"
    assert Path(classes, "It.class").exists()
    assert Path(jars).with_name("client.jar").exists()
    assert class_path("it", pom, {"It.java": "class It {}"}) == f"{classes}{os.pathsep}{jars}"
    assert (tmp_path / "calls").read_text().split() == ["mvn", "javac"]
    class_path("it", pom, {"It.java": "class It { }"})
    class_path("it", pom, {"It.java": "class It {}"}, ["-Pother"])
    assert (tmp_path / "calls").read_text().split() == ["mvn", "javac", "javac", "mvn", "javac"]


def test_a_fetch_that_fails_is_no_program_here(tools: Path, cache: Path, pom: Path) -> None:
    put(tools / "mvn", "#!/bin/sh\necho unknown host\nexit 1\n")
    with pytest.raises(BrokerUnavailable, match=r"cannot be had: mvn failed[\s\S]*unknown host"):
        class_path("it", pom, {"It.java": ""})
    assert list((cache / "installed").iterdir()) == []


def test_a_fetch_that_hangs_is_no_program_here(tools: Path, pom: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tools / "mvn", "#!/bin/sh\nexec sleep 1000\n")
    monkeypatch.setattr(programs, "_FETCHING", 0.2)
    with pytest.raises(BrokerUnavailable, match=r"cannot be had: mvn did not end within 0\.2 s"):
        class_path("it", pom, {"It.java": ""})


def test_what_does_not_compile_is_an_error_and_not_kept(tools: Path, pom: Path) -> None:
    put(tools / "javac", "#!/bin/sh\necho 'It.java:1: not this way' >&2\nexit 1\n")
    with pytest.raises(BrokerFailed, match=r"It\.java:1: not this way"):
        class_path("it", pom, {"It.java": ""})
    put(tools / "javac", JAVAC)
    assert class_path("it", pom, {"It.java": ""})


def test_an_old_java_is_named(tools: Path, pom: Path) -> None:
    put(tools / "java", JAVA.replace("17", "11"))
    with pytest.raises(BrokerUnavailable, match="is older than Java 17"):
        class_path("it", pom, {"It.java": ""})


def python(code: str) -> Running:
    """A run of a few lines of Python, for what is the same in every language."""
    return Running([sys.executable, "-u", "-c", code])


def test_lines_one_by_one_and_the_rest() -> None:
    with python("print('ready\\n1\\n[2]')") as running:
        assert running.line() == "ready"
        assert running.rest() == [1, [2]]


def test_a_program_that_hangs_is_waited_for_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with python("print('ready'); import signal; signal.pause()") as running:
        assert running.line() == "ready"
        monkeypatch.setattr(program, "_PATIENCE", 0.2)
        for ask in (running.line, running.rest):
            with pytest.raises(AssertionError, match=r"hangs: nothing came for 0\.2 s"):
                ask()


def test_one_that_says_no_more_and_stays_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with python("import os, signal; print('ready'); os.close(1); signal.pause()") as running:
        assert running.line() == "ready"
        monkeypatch.setattr(program, "_PATIENCE", 0.2)
        with pytest.raises(AssertionError, match=r"hangs|did not end within 0\.2 s"):
            running.line()


def test_a_failure_is_told_in_its_own_words() -> None:
    for ask in (Running.line, Running.rest):
        with (
            python("raise SystemExit('no such luck')") as running,
            pytest.raises(AssertionError, match=r"failed \(1\): no such luck"),
        ):
            ask(running)
