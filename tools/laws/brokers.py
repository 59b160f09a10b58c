"""The law of tables: below ``integration/``, only tables and the files of one broker name a broker.

So the equipment serves every broker alike, and a new one needs a row in each table and its own folder.
"""

import ast
import re
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["BROKERS", "TABLES", "check"]

BROKERS = re.compile("rabbit|activemq|artemis|broker-?j|pulsar", re.IGNORECASE)
"""The names of brokers; a file with one in its path belongs to that broker."""

TABLES = frozenset(
    {
        "integration/bench/brokers.py",
        "integration/compliance/targets.py",
        "integration/conformance/backends.py",
        "integration/conformance/published.py",  # one of the programs belongs to a broker
        "integration/faults/brokers.py",
        "integration/interop/rows.py",
        "integration/lab/broker.py",
        "integration/lab/composing.py",
        "integration/lab/fixtures.py",
        "integration/lab/running/images.py",
        "integration/lab/running/probes.py",  # a probe for each protocol, one of which has the name of a broker
        "integration/lab/table.py",
        "integration/networked/schemes.py",
        "integration/spark/brokers.py",
    }
)


def check(source: Source) -> Iterator[Violation]:
    """Check names, imports and strings; comments and docstrings may give examples."""
    own = BROKERS.search(str(source.path)) or source.within("integration/lab/tests", "integration/bench/clients")
    if not source.within("integration") or own or str(source.path) in TABLES:
        return
    docstrings = {id(text) for text in _docstrings(source.tree)}
    for node in ast.walk(source.tree):
        if id(node) not in docstrings:
            for name in _names(node):
                if BROKERS.search(name):
                    yield source.broken(
                        getattr(node, "lineno", 1), f"{name!r} names a broker: make it a row of a table"
                    )


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield node.name
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
