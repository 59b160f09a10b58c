"""Break the code that implements a rule, and check that a test of that rule fails.

``python -m tools.mutations`` tries every entry of ``mutations.toml``, ``python -m tools.mutations HD-1 "pitfall 9"``
those of the rules named, ``--pick 10 --seed 7`` some at random. Everything happens in a copy of the checkout; the
checkout itself is only read. Exits with 1 when a mutation survives the tests of its rule.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from jmsbridge.testing.rules import Evidence, collect
from tools.definitions import find

__all__ = ["Mutation", "Verdict", "load", "main", "try_out"]

_ROOT = Path(__file__).resolve().parent.parent
_LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv*", ".*cache", ".hypothesis", "__pycache__", "dist")
_PATIENCE = 90.0  # seconds for one run of the tests of one rule; a mutant that hangs is found by pytest's own time-out
_FAILED = re.compile(r"^(?:FAILED|ERROR) \S+::(\w+)", re.MULTILINE)


class Mutation(msgspec.Struct, frozen=True, kw_only=True):
    """One plausible mistake: in the function or class ``at``, ``old`` (which stands there once) becomes ``new``, and
    ``rule`` breaks.
    """

    rule: str
    mistake: str
    at: str
    old: str
    new: str


class Verdict(msgspec.Struct, frozen=True):
    """``killed``, ``killed by others``, ``survived``, ``stale`` (the code has changed), and by which tests.

    ``hangs``: the run did not end, which counts as noticed; a deadlock in a fixture's end stops pytest itself.
    """

    word: str
    tests: tuple[str, ...] = ()


class _Entries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mutation: list[Mutation]


def load(folder: Path = _ROOT / "tools") -> list[Mutation]:
    """All known mutations."""
    entries = tomllib.loads((folder / "mutations.toml").read_text(encoding="utf-8"))
    return msgspec.convert(entries, _Entries).mutation


def try_out(mutation: Mutation, copy: Path, evidence: Evidence, *, others: bool = False) -> Verdict:
    """Apply it to the copy, run the tests of its rule (with ``others`` then all of the suite), and undo it."""
    place = find(mutation.at, copy)
    source, text = place.path, place.path.read_text(encoding="utf-8")
    if place.count(mutation.old) != 1:
        return Verdict("stale")
    source.write_text(place.replaced(mutation.old, mutation.new), encoding="utf-8")
    try:
        verdict = _run(copy, _nodes(mutation.rule, copy, evidence), "killed")
        if verdict.word == "survived" and others:
            verdict = _run(copy, ["tests/suites/memory", "tests/core", "tests/embedded/memory"], "killed by others", 6)
    finally:
        source.write_text(text, encoding="utf-8")
    return verdict


def _nodes(rule: str, copy: Path, evidence: Evidence) -> list[str]:
    """The tests that name the rule or the pitfall, as pytest wants them."""
    kind, _, number = rule.partition(" ")
    names = evidence.pitfalls[int(number)] if kind == "pitfall" else evidence.rules[rule]
    suite = copy / "jmsbridge" / "testing" / "suite"
    nodes = []
    for name in names:
        module, _, test = name.partition("::")
        home = "suites/memory/test_suite" if (suite / f"{module}.py").is_file() else module
        nodes.append(f"tests/{home}.py::{test}")
    return nodes


def _run(copy: Path, what: Sequence[str], word: str, patience: int = 1) -> Verdict:
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "not long"]
    command += ["--timeout=8", "--timeout-method=signal", *what]
    path = os.pathsep.join(map(str, (copy, copy / "backends")))
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=patience * _PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return Verdict("hangs")
    if done.returncode > 1:
        raise RuntimeError(f"pytest could not run {' '.join(what)}:\n{done.stdout}{done.stderr}")
    return Verdict(word if done.returncode else "survived", tuple(dict.fromkeys(_FAILED.findall(done.stdout))))


def main(arguments: Sequence[str]) -> int:
    """Try what was asked for and print one line each."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("rules", nargs="*", help="such as HD-1 or 'pitfall 9'; all when none is given")
    parser.add_argument("--pick", type=int, help="only so many, at random")
    parser.add_argument("--seed", type=int, default=0, help="for --pick")
    parser.add_argument("--others", action="store_true", help="run all tests on a mutation that survives its own")
    given = parser.parse_args(arguments)
    chosen = [mutation for mutation in load() if not given.rules or mutation.rule in given.rules]
    if given.pick is not None:
        chosen = random.Random(given.seed).sample(chosen, min(given.pick, len(chosen)))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(_ROOT, copy, ignore=_LEFT_BEHIND)
        evidence = collect([copy / "jmsbridge" / "testing" / "suite", copy / "tests"])
        for mutation in chosen:
            verdict = try_out(mutation, copy, evidence, others=given.others)
            bad += verdict.word not in ("killed", "hangs")
            print(
                f"{mutation.rule:10} {verdict.word:16} {mutation.mistake}  [{', '.join(verdict.tests[:3])}]", flush=True
            )
    print(f"{len(chosen) - bad} of {len(chosen)} killed by a test of their own rule")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
