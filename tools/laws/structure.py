"""The laws of structure: no import of a higher layer by a lower one, and no large import circle.

Every import counts, also one in a function or for annotations only, because readers of the file have to follow it.
"""

from collections.abc import Iterable, Iterator, Mapping

from tools.laws.source import Source, Violation

__all__ = ["LAYERS", "Graph", "check"]

LAYERS = (
    ("jmsbridge.errors",),
    (
        "jmsbridge.values",
        "jmsbridge.codecs",
        "jmsbridge.strict",
        "jmsbridge.syntax",
        "jmsbridge.done",
        "jmsbridge.java_api",
    ),
    ("jmsbridge.spi",),
    ("jmsbridge.selectors", "jmsbridge.transport", "jmsbridge.destinations"),
    ("jmsbridge.messages", "jmsbridge.message"),
    ("jmsbridge.config",),
    ("jmsbridge.core.runtime",),
    ("jmsbridge.core.arguments", "jmsbridge.core.naming", "jmsbridge.core.plan", "jmsbridge.core.translate"),
    ("jmsbridge.core.emulation",),
    ("jmsbridge.core.receiving",),
    ("jmsbridge.core.transaction",),
    ("jmsbridge.core.sending",),
    ("jmsbridge.core.links",),
    ("jmsbridge.core",),
    ("jmsbridge",),  # the classic API, in the package itself
    ("jmsbridge.simplified",),
    ("jmsbridge.factory", "jmsbridge.domain"),
    ("jmsbridge.aio",),
    ("jmsbridge.documents",),
    ("jmsbridge.app",),
    ("jmsbridge.migrate",),
    ("jmsbridge.cli", "jmsbridge.demo", "jmsbridge.spark", "jmsbridge.testing"),
)
"""Lowest first; the longest matching prefix of a module's name decides."""

_ENTRANCES = {"jmsbridge", "jmsbridge.__main__"}
"""Modules that only re-export names of others."""

_EXCEPTED = {("jmsbridge.errors", "jmsbridge.message")}
"""``InDoubt`` lists the messages of the application, which sends them again: their type is part of the public API."""

_LARGEST_CIRCLE = 3

Graph = Mapping[str, Mapping[str, int]]
"""The line of the first import by importing and imported module."""


def check(sources: Iterable[Source]) -> Iterator[Violation]:
    """Check all modules of the wheel together."""
    shipped = {source.module: source for source in sources if source.within("jmsbridge", "backends")}
    graph = {module: _arrows(source, shipped) for module, source in shipped.items()}
    for module, arrows in graph.items():
        for other, line in arrows.items():
            if module not in _ENTRANCES and _layer(other) > _layer(module):
                yield shipped[module].broken(line, f"{other} is in a higher layer than {module}")
    for circle in _circles(graph):
        folders = {shipped[module].path.parent for module in circle}
        if len(circle) > _LARGEST_CIRCLE or len(folders) > 1:
            first = min(circle)
            yield shipped[first].broken(1, f"an import circle of {len(circle)} files: {', '.join(sorted(circle))}")


def _arrows(source: Source, shipped: Mapping[str, Source]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node, name in source.imports():
        target = name if name in shipped else name.rpartition(".")[0]
        if target in shipped and target != source.module and (source.module, target) not in _EXCEPTED:
            found.setdefault(target, node.lineno)
    return found


def _layer(module: str) -> int:
    name = module
    while name:
        for height, names in enumerate(LAYERS):
            if name in names:
                return height
        name = name.rpartition(".")[0]
    return len(LAYERS)  # a backend


def _circles(graph: Graph) -> Iterator[set[str]]:
    """The strongly connected modules. Modules that only re-export are left out, because they import everything."""
    reached = {module: _reached(module, graph) for module in graph}
    seen: set[str] = set()
    for module in sorted(graph):
        if module not in seen:
            circle = {other for other in reached[module] if module in reached[other]} | {module}
            seen |= circle
            if len(circle) > 1:
                yield circle


def _reached(start: str, graph: Graph) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for other in graph[ahead.pop()]:
            if other not in found:
                found.add(other)
                ahead.append(other)
    return found
