"""The law of tests and of honest code: every test asserts, nobody sleeps, no error is swallowed in silence."""

import ast
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["check"]

_RAISES = {"raises", "warns", "fail", "deprecated_call"}
# Helpers of the compliance suite that assert by themselves.
_ASSERTING = {"receive_texts", "eventually", "wait"}


def check(source: Source) -> Iterator[Violation]:
    """Tests assert; nothing sleeps without ``# sleep: reason``; an ``except`` that does nothing says why."""
    if source.within("tests", "jmsbridge/testing/suite"):
        yield from _tests(source)
    yield from _sleeps(source)
    yield from _silence(source)


def _tests(source: Source) -> Iterator[Violation]:
    helpers = {function.name: function for function in source.functions()}
    for function in source.functions():
        if function.name.startswith("test_") and not _asserts(function, helpers, set()):
            yield source.broken(function, f"{function.name} asserts nothing")


def _asserts(function: ast.AST, helpers: dict[str, ast.FunctionDef | ast.AsyncFunctionDef], seen: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = _called(node)
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
        # sleep(0) waits for nothing: it only lets another thread run.
        slept = isinstance(call, ast.Call) and ast.unparse(call) != "time.sleep(0)"
        slept = slept and ast.unparse(call).startswith("time.sleep(")
        if isinstance(call, ast.Call) and slept and "# sleep: " not in source.lines[call.lineno - 1]:
            yield source.broken(call, "nothing sleeps: wait for an event with a deadline")


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
