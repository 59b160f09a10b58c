"""Lists which tests cover which rule: ``python -m jmsbridge.testing.rules [PATH…]`` fails if a rule has no test.

Tests are found in their source text, without importing them: in the suite of this package and in the given paths, by
default in ``./tests``. ``--markdown`` writes the list as a page.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jmsbridge.testing.marks import MOST_RULES
from jmsbridge.testing.rule_texts import CHOICES, PITFALLS, RULES

__all__ = ["CHOICES", "PITFALLS", "RULES", "Evidence", "collect", "main", "markdown", "report"]


@dataclass
class Evidence:
    """The tests of each rule and pitfall, and the marks that are wrong."""

    rules: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in RULES})
    pitfalls: dict[int, list[str]] = field(default_factory=lambda: {number: [] for number in PITFALLS})
    mistakes: list[str] = field(default_factory=list)

    @property
    def untested(self) -> list[str]:
        """Rules and pitfalls without a test."""
        gaps = [name for name, tests in self.rules.items() if not tests]
        return gaps + [f"pitfall {number}" for number, tests in self.pitfalls.items() if not tests]

    @property
    def summary(self) -> str:
        """The summary in one line."""
        rules = sum(map(bool, self.rules.values()))
        pitfalls = sum(map(bool, self.pitfalls.values()))
        return f"{rules} of {len(RULES)} rules tested, {pitfalls} of {len(PITFALLS)} pitfalls"


def collect(paths: Iterable[Path]) -> Evidence:
    """Read the decorators ``@rule`` and ``@pitfall`` of every test under ``paths``."""
    evidence = Evidence()
    for source, label in _sources(paths):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), str(source))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                _read(node, f"{label}::{node.name}", evidence)
    return evidence


def _sources(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Each file once, with its path below the given folder, without the suffix."""
    seen: set[Path] = set()
    for path in paths:
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if source.resolve() not in seen:
                seen.add(source.resolve())
                yield source, source.relative_to(path if path.is_dir() else path.parent).with_suffix("").as_posix()


def _read(node: ast.FunctionDef | ast.AsyncFunctionDef, test: str, evidence: Evidence) -> None:
    named: list[str] = []
    for mark, arguments in _marks(node):
        if mark == "rule":
            named += map(str, arguments)
        elif mark == "pitfall":
            for number in arguments:
                _note(evidence.pitfalls, number, test, evidence.mistakes)
    for name in named:
        _note(evidence.rules, name, test, evidence.mistakes)
    if len(named) > MOST_RULES:
        evidence.mistakes.append(f"{test} names {len(named)} rules; {MOST_RULES} is the most")


def _note(known: dict[str, list[str]] | dict[int, list[str]], key: object, test: str, mistakes: list[str]) -> None:
    tests: list[str] | None = known.get(key)  # type: ignore[call-overload]
    if tests is None:
        mistakes.append(f"{test} names {key!r}, which does not exist")
    else:
        tests.append(test)


def _marks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, list[object]]]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            mark = (
                decorator.func.attr if isinstance(decorator.func, ast.Attribute) else getattr(decorator.func, "id", "")
            )
            if mark in ("rule", "pitfall"):
                yield mark, [getattr(argument, "value", ast.unparse(argument)) for argument in decorator.args]


def report(evidence: Evidence) -> Iterator[str]:
    """The list as text: each rule, the choice made where the specification leaves one, and its tests."""
    for name, statement in RULES.items():
        yield f"{name:6} {statement}"
        if name in CHOICES:
            yield f"       chosen: {CHOICES[name]}"
        yield from (f"       - {test}" for test in evidence.rules[name])
    for number, statement in PITFALLS.items():
        yield f"pitfall {number:2} {statement}"
        yield from (f"       - {test}" for test in evidence.pitfalls[number])
    yield from (f"mistake: {mistake}" for mistake in evidence.mistakes)
    yield from (f"untested: {gap}" for gap in evidence.untested)


def markdown(evidence: Evidence) -> Iterator[str]:
    """The list as a page of the documentation."""
    yield "# The rules of Jakarta Messaging 3.1, each with its tests\n"
    yield "Written by `python -m jmsbridge.testing.rules --markdown`; do not edit.\n"
    yield f"{evidence.summary}.\n"
    yield "| rule | what it says | tests |\n|---|---|---|"
    for name, statement in RULES.items():
        chosen = f" *Free; chosen:* {CHOICES[name]}" if name in CHOICES else ""
        yield f"| {name} | {statement}{chosen} | {_cell(evidence.rules[name])} |"
    yield "\n## Forty mistakes of other implementations\n"
    yield "| no. | what must hold | tests |\n|---|---|---|"
    for number, statement in PITFALLS.items():
        yield f"| {number} | {statement} | {_cell(evidence.pitfalls[number])} |"


def _cell(tests: Sequence[str]) -> str:
    return ", ".join(f"`{test}`" for test in tests) or "none"


def main(arguments: Sequence[str]) -> int:
    """Print the list; return 1 if a rule or pitfall has no test or a mark is wrong."""
    paths = [Path(argument) for argument in arguments if not argument.startswith("-")]
    if not paths:
        paths = [path for path in (Path("tests"),) if path.is_dir()]
    evidence = collect([Path(__file__).with_name("suite"), *paths])
    for line in markdown(evidence) if "--markdown" in arguments else report(evidence):
        print(line)
    if "--markdown" not in arguments:
        print(evidence.summary)
    return 1 if evidence.mistakes or evidence.untested else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
