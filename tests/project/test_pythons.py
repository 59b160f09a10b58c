"""On which Pythons the tests run, with stand-ins for interpreters; every declared version is tested."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools import pythons
from tools.laws.source import ROOT
from tools.pythons import Interpreter, Unusable

# Answers like Python: its version, a virtual environment, an installation, a test run.
STAND_IN = """\
#!/bin/sh
case "$*" in
  -I*) echo "{kind} {version}";;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python";;
  "-m pip "*) echo "installing for {version}";;
  --version) echo "Python {version}";;
  "-m pytest "*) echo "testing on {version}: $*"; {tests};;
  *) exit 0;;
esac
"""


def stand_in(folder: Path, name: str, version: str, *, kind: str = "usable", tests: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    script.write_text(STAND_IN.format(version=version, kind=kind, tests=tests), encoding="utf-8")
    script.chmod(0o755)
    return script


def below_pyenv(root: Path, version: str, *, kind: str = "usable", tests: str = "exit 0") -> Path:
    return stand_in(root / "versions" / version / "bin", "python3", version, kind=kind, tests=tests)


def command(tmp_path: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The tool as make calls it, on a machine with only what is below ``tmp_path`` and the Python of this run."""
    path = f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    surroundings = {**os.environ, "PATH": path, "PYENV_ROOT": str(tmp_path / "pyenv"), "HOME": str(tmp_path)}
    own = [sys.executable, "-m", "tools.pythons", "--venvs", str(tmp_path / "venvs"), *arguments]
    return own, surroundings


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    own, surroundings = command(tmp_path, *arguments)
    return subprocess.run(own, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=50, check=False)


OTHERS = [minor for minor in pythons.SUPPORTED if minor != f"3.{sys.version_info.minor}"]
ASKED = ("--only", OTHERS[0], "--only", OTHERS[1])
"""Run the tool for two versions only, because the system may have further ones."""


def test_path_and_pyenv_are_searched_and_the_newest_of_each_minor_version_is_taken(tmp_path: Path) -> None:
    folder, pyenv = tmp_path / "bin", tmp_path / "pyenv"
    stand_in(folder, "python3.12", "3.12.4")
    stand_in(folder, "python3", "3.11.2")
    newer = below_pyenv(pyenv, "3.11.10")
    below_pyenv(pyenv, "3.11.9")
    below_pyenv(pyenv, "3.12.1")
    below_pyenv(pyenv, "3.10.13")
    below_pyenv(pyenv, "3.14.0rc2")
    final = below_pyenv(pyenv, "3.14.0")
    assert pythons.found(str(folder), [pyenv]) == [
        Interpreter("3.11.10", newer),
        Interpreter("3.12.4", folder / "python3.12"),
        Interpreter("3.14.0", final),
    ]


def test_an_interpreter_that_does_not_run_is_skipped(tmp_path: Path) -> None:
    folder, pyenv = tmp_path / "bin", tmp_path / "pyenv"
    shim = stand_in(folder, "python3.12", "3.12.4")
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n", encoding="utf-8")
    below_pyenv(pyenv, "3.13.5", kind="free-threaded")
    (folder / "python3.14").write_text("not executable", encoding="utf-8")
    works = below_pyenv(pyenv, "3.11.9")
    assert pythons.found(str(folder), [pyenv]) == [Interpreter("3.11.9", works)]


PRIMARY = Interpreter("3.12.1", Path("/somewhere/bin/python"))


def test_one_version_is_not_enough_and_it_is_said_which_was_found() -> None:
    same = Interpreter("3.12.4", Path("/elsewhere/python3"))
    with pytest.raises(Unusable, match=r"Only Python 3\.12\.1 \(/somewhere/bin/python\).*at least 2 of 3\.11, 3\.12"):
        pythons.chosen([same], PRIMARY)


def test_the_version_of_make_test_is_not_run_again() -> None:
    other = Interpreter("3.13.0", Path("/elsewhere/python3"))
    assert pythons.chosen([Interpreter("3.12.4", Path("/x")), other], PRIMARY) == [other]


def test_every_folder_that_runs_on_one_python_only_exists() -> None:
    names = [name for names in pythons.ELSEWHERE.values() for name in names]
    assert [name for name in names if not (ROOT / "tests" / name).is_dir()] == []


def test_a_new_folder_runs_on_every_python(tmp_path: Path) -> None:
    for name in ("brandnew", "docs", "suites/brandnew", "suites/masked", "empty"):
        (tmp_path / name).mkdir(parents=True)
        if name != "empty":
            (tmp_path / name / "test_it.py").touch()
    found = [folder.relative_to(tmp_path).as_posix() for folder in pythons.folders(tmp_path)]
    assert found == ["brandnew", "suites/brandnew"]


def test_each_version_is_installed_and_tested_and_the_failing_one_is_named(tmp_path: Path) -> None:
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99", tests="exit 1")
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[1]}.99")
    ran = run(tmp_path, *ASKED)
    assert ran.returncode == 1, ran.stderr
    for number, minor in enumerate(OTHERS[:2], 1):
        assert f"== Python {minor}.99: {number} of 2 ==" in ran.stdout
        assert f"installing for {minor}.99" in ran.stdout
        assert f"testing on {minor}.99: -m pytest" in ran.stdout
        assert (tmp_path / "venvs" / f".venv-{minor}" / ".stamp-dev").exists()
    failed, passed = ran.stdout.splitlines()[-2:]
    assert failed.startswith(f"Python {OTHERS[0]}.99: FAILED")
    assert passed.startswith(f"Python {OTHERS[1]}.99: passed")


def test_an_environment_is_made_once(tmp_path: Path) -> None:
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99")
    first, second = (run(tmp_path, "--only", OTHERS[0]) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "installing" in first.stdout
    assert "installing" not in second.stdout


def test_the_environments_alone_are_made_for_a_later_run(tmp_path: Path) -> None:
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99")
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[1]}.99")
    made = run(tmp_path, *ASKED, "--environments")
    assert made.returncode == 0, made.stderr
    assert all(f"installing for {minor}.99" in made.stdout for minor in OTHERS[:2])
    assert "testing on" not in made.stdout
    later = run(tmp_path, *ASKED)
    assert "installing" not in later.stdout
    assert "testing on" in later.stdout


def test_arguments_reach_pytest(tmp_path: Path) -> None:
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99")
    every = run(tmp_path, "--only", OTHERS[0], "-x").stdout
    assert "-x tests/aio " in every
    assert "tests/docs" not in every
    assert "not long -x tests/core\n" in run(tmp_path, "--only", OTHERS[0], "-x", "tests/core").stdout


def test_a_listing_runs_nothing(tmp_path: Path) -> None:
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99")
    ran = run(tmp_path, "--list")
    assert ran.returncode == 0, ran.stderr
    assert f"Python {OTHERS[0]}.99: the tests that need no server" in ran.stdout
    assert "everything, by `make test`" in ran.stdout
    assert not (tmp_path / "venvs").exists()


def test_a_version_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99")
    ran = run(tmp_path, "--only", "3.99")
    assert ran.returncode == 2
    assert "no Python 3.99 here" in ran.stderr
    assert f"{OTHERS[0]}.99" in ran.stderr


def test_an_interrupt_ends_the_run_and_names_the_version(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    tests = f"trap 'touch {ended}; exit 2' INT; echo begun; while :; do sleep 0.05; done"
    below_pyenv(tmp_path / "pyenv", f"{OTHERS[0]}.99", tests=tests)
    own, surroundings = command(tmp_path, "--only", OTHERS[0])
    with subprocess.Popen(
        own, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "begun\n":
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        rest = process.stdout.read()
    assert process.returncode == 130
    assert f"Interrupted on Python {OTHERS[0]}.99" in rest
    assert "Traceback" not in rest
    assert ended.exists()


def test_every_declared_version_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    beginning = "Programming Language :: Python :: 3."
    declared = ["3." + each.removeprefix(beginning) for each in project["classifiers"] if each.startswith(beginning)]
    assert declared == [minor for minor in pythons.SUPPORTED if minor in declared]
    assert project["requires-python"] == f">={declared[0]}"
    assert pythons.SUPPORTED[0] == declared[0]
