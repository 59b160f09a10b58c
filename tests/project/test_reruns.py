"""CI's second run of tests that failed at first: listed, and limited."""

from pathlib import Path

import pytest

from integration.faults.report import BROKEN
from tools.reruns import LEAST, ONE_IN

pytest_plugins = ["pytester"]

FLAKY = """\
import pathlib, pytest

@pytest.mark.parametrize("number", range({count}))
def test_late(number):
    seen = pathlib.Path(f"seen-{{number}}")
    first = not seen.exists()
    seen.touch()
    assert not first, "too late"
"""

MANY = """\

@pytest.mark.parametrize("number", range({count}))
def test_in_time(number):
    pass
"""


@pytest.mark.parametrize(
    ("count", "workers"), [(1, ()), (LEAST, ()), (LEAST + 1, ()), (LEAST, ("-n", "2")), (LEAST + 1, ("-n", "2"))]
)
def test_a_few_late_tests_are_listed_and_many_fail_the_run(
    pytester: pytest.Pytester, count: int, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(FLAKY.format(count=count))
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.reruns", "--reruns", "1", *workers)
    ran.stdout.fnmatch_lines(["*failed at first and run again*", "*test_late?0?: AssertionError: too late*"])
    assert ran.ret == (pytest.ExitCode.TESTS_FAILED if count > LEAST else pytest.ExitCode.OK)


@pytest.mark.parametrize(
    ("late", "status"), [(LEAST + 1, pytest.ExitCode.OK), (LEAST + 2, pytest.ExitCode.TESTS_FAILED)]
)
def test_of_many_tests_one_in_a_thousand_may_be_late(pytester: pytest.Pytester, late: int, status: int) -> None:
    """Here one in ten, since a thousand tests for each late one would take long."""
    assert ONE_IN == 1000
    pytester.makeconftest("from tools import reruns\nreruns.ONE_IN = 10\n")
    pytester.makepyfile(FLAKY.format(count=late) + MANY.format(count=10 * (LEAST + 1)))
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.reruns", "--reruns", "1")
    assert ran.ret == status


def test_what_fails_twice_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_wrong():\n    assert False\n")
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.reruns", "--reruns", "1")
    assert ran.ret == pytest.ExitCode.TESTS_FAILED


def test_a_broken_promise_is_not_run_again(pytester: pytest.Pytester) -> None:
    options = f"--rerun-except {BROKEN}"
    assert options in (Path(__file__).parents[2] / ".ci" / "run").read_text()
    pytester.makepyfile(FLAKY.format(count=1).replace("too late", f"{BROKEN} with seed 1"))
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.reruns", "--reruns", "1", *options.split())
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
