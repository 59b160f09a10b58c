"""The size law: nothing over 500 lines, no function of 40 or more."""

import ast
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["FILE_LINES", "FUNCTION_LINES", "check", "length"]

FILE_LINES = 500
FUNCTION_LINES = 40


def check(source: Source) -> Iterator[Violation]:
    """Files under 500 lines, functions under 40 unless the signature carries ``# size: reason``."""
    if len(source.lines) >= FILE_LINES:
        yield source.broken(1, f"{len(source.lines)} lines; a file stays under {FILE_LINES}")
    for function in source.functions():
        signature = source.lines[function.lineno - 1 : function.body[0].lineno]
        if length(function) >= FUNCTION_LINES and not any("# size: " in line for line in signature):
            yield source.broken(
                function,
                f"{function.name} has {length(function)} lines; a function stays under {FUNCTION_LINES}",
            )


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, its docstring not counted."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines
