"""The naming law: SPI nouns and JMS nouns do not mix, and functions that wait say so in their name."""

import ast
import re
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["check"]

_SPI_NOUNS = {"Link", "Channel", "Subscription", "Envelope"}
_JMS_NOUNS = {"Connection", "Session", "MessageConsumer", "MessageProducer", "Message"}


def check(source: Source) -> Iterator[Violation]:
    """Class names show whether code belongs to SPI or facade; a wait has a deadline; its function is called wait_…."""
    if len(source.path.parts) == 2 and source.within("jmsbridge"):
        yield from _classes(source, _SPI_NOUNS, "an SPI noun; this module is on the JMS side")
    elif source.within("jmsbridge/spi", "backends"):
        yield from _classes(source, _JMS_NOUNS, "a JMS noun; this module is on the SPI side")
    if source.within("jmsbridge/core"):
        yield from _waits(source)


def _classes(source: Source, nouns: set[str], why: str) -> Iterator[Violation]:
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            words = re.findall(r"[A-Z][a-z0-9]*", node.name)
            if node.name in nouns or (words and words[-1] in nouns - {"Message"}):
                yield source.broken(node, f"class {node.name} has {why}")


def _waits(source: Source) -> Iterator[Violation]:
    for function in source.functions():
        for node in _own_nodes(function):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            line = source.lines[node.lineno - 1]
            if node.func.attr == "wait" and not (node.args or node.keywords) and "# wait: " not in line:
                yield source.broken(node, f"{function.name} waits without a deadline")
            named = function.name.startswith(("_", "wait"))
            if node.func.attr in {"wait", "wait_for"} and not named and "# wait: " not in line:
                yield source.broken(node, f"{function.name} waits; call it wait_…")


def _own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
