"""The suite's own machinery: three outcomes of ``@requires``, the summary, and the report of rules."""

from pathlib import Path

import pytest

from jmsbridge.testing import rules

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from jmsbridge.spi import Native
from jmsbridge.testing import Harness

class Fake(Harness):
    url = "fake:"
    native = Native.SEND_CONFIRM | Native.BROWSE
    emulation = "default"
    def cut(self): ...

@pytest.fixture
def harness():
    with Fake() as made:
        yield made
"""

HEAD = """
import pytest
from jmsbridge.errors import UnsupportedFeatureException
from jmsbridge.spi import Native, NotSupported
from jmsbridge.testing import level, requires
"""


def _run(pytester: pytest.Pytester, cases: str, *arguments: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(HEAD + cases)
    return pytester.runpytest_inprocess(
        "-p", "jmsbridge.testing.plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "--strict-markers", *arguments
    )


def test_plugin_runs_native_and_emulated_cases(pytester: pytest.Pytester) -> None:
    result = _run(
        pytester,
        """
@requires(Native.BROWSE)
def test_native(harness): assert True
@requires(Native.TRANSACTIONS)
def test_emulated(harness): assert True
def test_plain(harness): assert True
""",
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["fake: 2 native, 1 emulated, 0 refused", "*TRANSACTIONS emulated: 1"])


def test_plugin_inverts_refused_cases(pytester: pytest.Pytester) -> None:
    result = _run(
        pytester,
        """
@requires(Native.DURABLE)
def test_refuses(harness): raise UnsupportedFeatureException("no durable subscriptions")
@requires(Native.DURABLE)
def test_works_unclaimed(harness): pass
@requires(Native.DURABLE)
def test_fails_otherwise(harness): raise ValueError("something else")
""",
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["*DURABLE is refused on fake, yet the case did not end in UnsupportedFeature*", "fake: *1 refused, 2 failed"]
    )


def test_plugin_fails_a_claimed_feature_that_is_refused(pytester: pytest.Pytester) -> None:
    result = _run(
        pytester,
        """
@requires(Native.BROWSE)
def test_claimed(harness): raise UnsupportedFeatureException("after all not")
""",
    )
    result.assert_outcomes(failed=1)


def test_plugin_knows_the_contract_level(pytester: pytest.Pytester) -> None:
    result = _run(
        pytester,
        """
@level("contract")
@requires(Native.SEND_TRANSACTIONS)
def test_refused(harness): raise NotSupported("no transactions")
@level("contract")
@requires(Native.PRIORITY)
def test_not_applicable(harness): assert False
def test_semantics(harness): assert False
""",
        "--level=contract",
    )
    result.assert_outcomes(passed=1, skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["fake: 0 native, 0 emulated, 1 refused, 1 not applicable"])


def test_plugin_quotes_the_broken_promise(pytester: pytest.Pytester) -> None:
    result = _run(
        pytester,
        """
from jmsbridge.spi import Outcome, Subscription
from jmsbridge.testing import promise, rule
@level("contract")
@promise(4, Outcome.ACCEPTED, Subscription.grant)
def test_fails(harness): assert False
@requires(Native.BROWSE)
@rule("AC-1")
def test_fails_too(harness): assert False
@promise(6)
def test_passes(harness): assert True
""",
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*broken promise*",
            "promise 4 of jmsbridge.spi.backend: nothing arrives after ``drain``'s answer or ``close``",
            "ACCEPTED of jmsbridge.spi.Outcome: consumed: the broker forgets it",
            "Subscription.grant of jmsbridge.spi.backend: Allow at most*",
            "*broken promise*",
            "BROWSE of jmsbridge.spi.Native: a BROWSE interest shows*",
            "rule AC-1 of the specification: *",
        ]
    )
    assert "promise 6" not in result.stdout.str()


def test_plugin_has_cases_that_do_not_apply(pytester: pytest.Pytester) -> None:
    """A case that needs a native capability does not apply where it is emulated."""
    result = _run(
        pytester,
        """
@requires(Native.DELIVERY_COUNT, native=True)
def test_exact(harness): assert False
@requires(Native.BROWSE, native=True)
def test_there(harness): assert True
@requires(Native.DURABLE | Native.DELIVERY_COUNT, native=True)
def test_refusal_comes_first(harness): raise UnsupportedFeatureException("no")
""",
    )
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["fake: 1 native, 0 emulated, 1 refused, 1 not applicable"])


def test_plugin_refuses_more_than_three_rules() -> None:
    from jmsbridge.testing import rule

    with pytest.raises(ValueError, match="split"):
        rule("HD-1", "HD-2", "HD-3", "HD-4")


def test_rules_are_complete() -> None:
    assert len(rules.RULES) == 158
    assert list(rules.PITFALLS) == list(range(1, 41))
    assert rules.CHOICES.keys() <= rules.RULES.keys()


def test_rules_report_finds_gaps_and_nonsense(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_some.py").write_text(
        'from jmsbridge.testing import *\n@rule("HD-1", "XX-9")\n@pitfall(7, 41)\ndef test_one(): pass\n'
        '@rule("HD-1")\n@rule("HD-2", "HD-3", "HD-4")\ndef test_two(): pass\n'
    )
    evidence = rules.collect([tmp_path])
    assert evidence.rules["HD-1"] == ["test_some::test_one", "test_some::test_two"]
    assert evidence.pitfalls[7] == ["test_some::test_one"]
    assert evidence.mistakes == [
        "test_some::test_one names 41, which does not exist",
        "test_some::test_one names 'XX-9', which does not exist",
        "test_some::test_two names 4 rules; 3 is the most",
    ]
    assert len(evidence.untested) == 158 - 4 + 39
    assert evidence.summary == "4 of 158 rules tested, 1 of 40 pitfalls"
    assert rules.main([str(tmp_path)]) == 1
    assert "mistake: test_some::test_two names 4 rules" in capsys.readouterr().out


def test_rules_page_has_every_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules.main(["--markdown", str(tmp_path)])
    page = capsys.readouterr().out
    assert all(f"\n| {name} | " in page for name in rules.RULES)
    assert page.startswith("# The rules")
