"""The law of tests and error handling: every test asserts, nothing sleeps, no exception is ignored without a reason."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from tools.laws.source import ROOT, Source, Violation

__all__ = ["check"]

_RAISES = {"raises", "warns", "fail", "deprecated_call"}
# Helpers of the compliance suite that contain assertions.
_ASSERTING = {"receive_texts", "eventually", "wait"}


def check(source: Source) -> Iterator[Violation]:
    """Tests assert; nothing sleeps without ``# sleep: reason``; an ``except`` that does nothing says why."""
    if source.within("tests", "integration", "jmsbridge/testing/suite"):
        yield from _tests(source)
    yield from _sleeps(source)
    yield from _silence(source)


def _tests(source: Source) -> Iterator[Violation]:
    tests = [function for function in source.functions() if function.name.startswith("test_")]
    helpers = _imported(source) | _definitions(source) if tests else {}
    for function in tests:
        if not _asserts(function, helpers, set()):
            yield source.broken(function, f"{function.name} asserts nothing")


def _definitions(source: Source) -> dict[str, ast.AST]:
    """Functions, and classes: creating an object counts as using its methods."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name: node for node in ast.walk(source.tree) if isinstance(node, kinds)}


def _imported(source: Source) -> dict[str, ast.AST]:
    """The helpers from other test modules, such as ``support``."""
    found: dict[str, ast.AST] = {}
    for _, name in source.imports():
        module, _, wanted = name.rpartition(".")
        path = ROOT / (module.replace(".", "/") + ".py")
        if module.startswith(("tests.", "integration.", "jmsbridge.testing.")) and path.is_file():
            found |= {key: node for key, node in _defined_in(path).items() if key == wanted}
    return found


@cache
def _defined_in(path: Path) -> dict[str, ast.AST]:
    return _definitions(Source(PurePosixPath(path.relative_to(ROOT)), path.read_text(encoding="utf-8")))


def _asserts(node: ast.AST, helpers: dict[str, ast.AST], seen: set[str]) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Assert):
            return True
        if isinstance(part, ast.Call):
            name = _called(part)
            if name in _RAISES | _ASSERTING or name.lstrip("_").startswith("assert"):
                return True
            if name in helpers and name not in seen and _asserts(helpers[name], helpers, seen | {name}):
                return True
    return False


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _sleeps(source: Source) -> Iterator[Violation]:
    for node, name in source.imports():
        if name == "time.sleep":
            yield source.broken(node, "nothing sleeps: wait for an event with a deadline")
    for call in ast.walk(source.tree):
        if not isinstance(call, ast.Call):
            continue
        # sleep(0) waits for nothing: it only lets another thread run.
        slept = ast.unparse(call.func) == "time.sleep" and ast.unparse(call) != "time.sleep(0)"
        if slept and "# sleep: " not in source.lines[call.lineno - 1]:
            yield source.broken(call, "nothing sleeps: wait for an event with a deadline")
        if _waits_on_new_event(call):
            yield source.broken(
                call, "an event without another reference is never set: this is a sleep, so write it as one"
            )


def _waits_on_new_event(call: ast.Call) -> bool:
    """Whether it is ``Event().wait(…)``."""
    event = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "wait" else None
    return isinstance(event, ast.Call) and _called(event) == "Event"


def _silence(source: Source) -> Iterator[Violation]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        if node.type is None:
            yield source.broken(node, "a bare except also catches what ends the process")
        silent = all(isinstance(part, ast.Pass | ast.Continue) for part in node.body)
        said = source.lines[node.lineno - 1 : node.end_lineno]
        if silent and not any("#" in line for line in said):
            yield source.broken(node, "an except that does nothing says why in a comment")
