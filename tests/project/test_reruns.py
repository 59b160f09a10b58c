"""CI's second run of tests that failed at first: listed, and limited."""

from pathlib import Path

import pytest

from integration.faults.report import BROKEN
from tools.reruns import LEAST

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


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize("count", [1, LEAST, LEAST + 1])
def test_a_few_late_tests_are_listed_and_many_fail_the_run(
    pytester: pytest.Pytester, count: int, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(FLAKY.format(count=count))
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.reruns", "--reruns", "1", *workers)
    ran.stdout.fnmatch_lines(["*failed at first and run again*", "*test_late?0?: AssertionError: too late*"])
    assert ran.ret == (pytest.ExitCode.TESTS_FAILED if count > LEAST else pytest.ExitCode.OK)


def test_of_many_tests_one_in_a_thousand_may_be_late(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FLAKY.format(count=LEAST + 1) + MANY.format(count=1000 * (LEAST + 1)))
    ran = pytester.runpytest_subprocess("-q", "-p", "tools.reruns", "--reruns", "1")
    assert ran.ret == pytest.ExitCode.OK


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
