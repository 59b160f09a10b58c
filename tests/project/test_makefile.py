"""The make targets that the README names, as far as they can be tested without installing anything."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from integration.compliance.targets import WITHOUT_SERVERS
from tools.laws.source import ROOT
from tools.unrun import not_run

pytest_plugins = ["pytester"]

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def make(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    own = {"PYTHON", "VENV", "ARGS"}  # settings of the Makefile that this test run itself may have received
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name not in own}
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=50, check=False
    )


def test_help_names_every_target() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE)
    shown = make("help").stdout
    assert {"demo", "test", "test-long", "check", "bench", "docs", "clean"} <= set(targets)
    assert all(f"make {target} " in shown for target in targets)


def test_what_make_test_selects_is_known_to_the_suite_on_brokers() -> None:
    assert f'-m "{WITHOUT_SERVERS}"' in MAKEFILE


WORKING = """\
case "$1" in
  -c) exit 0;;
  --version) echo "Python 3.99 $0";;
  -m) mkdir -p "$3/bin"; touch "$3/bin/python";;
esac
"""


def interpreter(folder: Path, name: str, *, works: bool) -> None:
    """A stand-in for a Python; if ``works``, it creates an empty environment and prints that."""
    script = folder / name
    script.write_text("#!/bin/sh\n" + (WORKING if works else "exit 127\n"), encoding="utf-8")
    script.chmod(0o755)


def test_the_first_interpreter_that_works_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("python3", "python3.14", "python3.13", "python"):
        interpreter(folder, name, works=False)
    interpreter(folder, "python3.12", works=True)
    venv = tmp_path / "venv"
    made = make(f"VENV={venv}", f"{venv}/bin/python", path=f"{folder}:{os.environ['PATH']}")
    assert made.returncode == 0, made.stderr
    assert str(folder / "python3.12") in made.stdout


def test_a_machine_without_python_is_told_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"):
        interpreter(folder, name, works=False)
    venv = tmp_path / "venv"
    made = make(f"VENV={venv}", f"{venv}/bin/python", path=f"{folder}:{os.environ['PATH']}")
    assert made.returncode != 0
    assert "install one" in made.stderr
    assert not venv.exists()


@pytest.mark.parametrize(("required", "status"), [("", 0), ("1", 2)])
def test_without_a_compiler_one_client_library_is_left_out_unless_it_is_required(
    tmp_path: Path, required: str, status: int
) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *amqp*) echo "no compiler"; exit 1;; esac\n', encoding="utf-8")
    python.chmod(0o755)
    made = make(f"VENV={tmp_path}", f"REQUIRE_COMPILED={required}", f"{tmp_path}/.stamp-dev")
    assert made.returncode == status, made.stderr
    assert "needs a C compiler" in made.stdout
    assert "no compiler" in (tmp_path / "compiled.log").read_text(encoding="utf-8")
    assert (tmp_path / ".stamp-dev").exists() == (not required)


@pytest.mark.parametrize(
    ("skipped", "left_out", "absent", "expected"),
    [
        ({}, {}, [], []),
        ({"no JDK": 3}, {}, [], ["3 skipped: no JDK"]),
        (
            {"a lacks X, and no promise depends on it here": 2, "b lacks Y, and no promise depends on it here": 3},
            {},
            [],
            ["5 cases of the compliance suite that do not apply to their broker: listed under compliance"],
        ),
        ({}, {"long": 7}, [], ["7 long runs (repetition, faults, soak): make test-long"]),
        ({}, {"server": 5}, [], ["5 tests on real brokers and with Java: make test-brokers"]),
        ({}, {}, ["One", "Two"], ["everything on One, Two: `make brokers` fetches those that are available"]),
    ],
)
def test_tests_that_did_not_run_are_named(
    skipped: dict[str, int], left_out: dict[str, int], absent: list[str], expected: list[str]
) -> None:
    assert list(not_run(skipped, left_out, absent)) == expected


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_skipped_and_unselected_tests_are_reported_before_the_last_line(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makeini("[pytest]\nmarkers =\n  long\n  server")
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.long
        @pytest.mark.server
        @pytest.mark.parametrize("n", range(3))
        def test_long(n): assert False
        @pytest.mark.server
        @pytest.mark.parametrize("n", range(4))
        def test_server(n): assert False
        @pytest.mark.skip(reason="no JDK")
        @pytest.mark.parametrize("n", range(2))
        def test_skipped(n): assert False
        def test_quick(): assert True
        """
    )
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.unrun", "-m", "not long and not server", *workers)
    ran.assert_outcomes(passed=1, skipped=2, deselected=None if workers else 7)
    ran.stdout.fnmatch_lines(
        [
            "2 skipped: no JDK",
            "4 tests on real brokers *: make test-brokers",
            "3 long runs *: make test-long",
            "1 passed, 2 skipped* in *s",
        ]
    )
    assert " in " in [line for line in ran.outlines if line][-1]
