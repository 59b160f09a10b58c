"""The laws of the design, as checks over the checkout: ``python -m tools.laws``."""

from collections.abc import Callable, Iterator

from tools.laws import brokers, exports, imports, naming, packages, places, size, structure, testing, vocabulary
from tools.laws.source import Source, Violation, python_sources, sources

__all__ = ["PYTHON_LAWS", "TEXT_LAWS", "Violation", "violations"]

_Law = Callable[[Source], Iterator[Violation]]

PYTHON_LAWS: dict[str, _Law] = {
    "imports": imports.check,
    "size": size.check,
    "exports": exports.check,
    "naming": naming.check,
    "tests": testing.check,
    "brokers": brokers.check,
}
TEXT_LAWS: dict[str, _Law] = {"places": places.check, "vocabulary": vocabulary.check}


def violations() -> list[Violation]:
    """Every violation of all laws."""
    everything = sources()
    python = python_sources(everything)
    found: list[Violation] = []
    for laws, among in ((PYTHON_LAWS, python), (TEXT_LAWS, everything)):
        for check in laws.values():
            found += (violation for source in among for violation in check(source))
    found += packages.check()
    found += structure.check(python)
    return sorted(found, key=lambda violation: (violation.path, violation.line))
