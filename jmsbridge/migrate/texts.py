"""What the texts of a file say: constants of the project and placeholders of its configuration have values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from tree_sitter import Node

from jmsbridge.config.java import settings_of
from jmsbridge.config.java.files import read_file
from jmsbridge.config.java.text import expanded, unresolved
from jmsbridge.config.masking import is_secret
from jmsbridge.errors import ConfigurationError
from jmsbridge.migrate.index import Index, JavaClass, Unit
from jmsbridge.migrate.syntax import TYPES, text, value_of

__all__ = ["Configuration", "Texts"]

_PLACEHOLDER = re.compile(r"\$\{([^}:]*)")
_LONGEST = 10_000  # characters: no name is as long
_DEPTH = 20  # of constants that are made of constants


class Configuration:
    """The settings of the project's ``application`` files, of which those nearest to a source count first."""

    def __init__(self, root: Path, files: Iterable[Path]) -> None:
        self._of: dict[tuple[str, ...], dict[str, str]] = {}
        for path in files:
            if path.stem == "application":
                self._of.setdefault(path.relative_to(root).parent.parts, {}).update(_settings(path))

    def near(self, path: str) -> dict[str, str]:
        """The settings for a source file."""
        parts = Path(path).parent.parts
        found: dict[str, str] = {}
        for folder in sorted(self._of, key=lambda each: _common(each, parts)):
            if "test" not in folder or "test" in parts:
                found |= self._of[folder]
        return found


def _settings(path: Path) -> dict[str, str]:
    try:
        content, kind, _ = read_file(path)
        return settings_of(content, kind)
    except ConfigurationError:  # in the report already, as a file that makes no profile
        return {}


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


class Texts:
    """The texts of one file."""

    def __init__(self, index: Index, unit: Unit, settings: Mapping[str, str]) -> None:
        self._index = index
        self._unit = unit
        self._settings = settings
        self._constants: dict[tuple[str, int], str | None] = {}

    @cached_property
    def sends_to_topics(self) -> bool:
        """Whether Spring Boot is told that names are those of topics."""
        folded = {name.replace("-", "").lower(): value for name, value in self._settings.items()}
        return folded.get("spring.jms.pubsubdomain", "").strip().lower() == "true"

    def of(self, node: Node | None) -> str | None:
        """The text of an expression of literals and constants, its placeholders replaced where they have a value; None
        for anything else, and for what names a secret.
        """
        found = self._value(node, self._unit, _DEPTH)
        if found is None or "${" not in found:
            return found
        if any(is_secret(name) for name in _PLACEHOLDER.findall(found)):
            return None
        filled = expanded(found, self._settings, ":", lambda *said: None)
        return found if unresolved(filled) or "${" in filled or len(filled) > _LONGEST else filled

    def _value(self, node: Node | None, unit: Unit, depth: int) -> str | None:
        return value_of(node, lambda name: self._constant(name, unit, depth - 1)) if depth else None

    def _constant(self, node: Node, unit: Unit, depth: int) -> str | None:
        name = text(node if node.type == "identifier" else node.child_by_field_name("field"))
        for owner in self._owners(node, name, unit):
            for each in self._index.lineage(f"project:{owner}", unit):
                if isinstance(each, JavaClass) and name in each.constants:
                    return self._kept(each.constants[name], each.unit, depth)
        return None

    def _kept(self, value: Node, unit: Unit, depth: int) -> str | None:
        """The text of a constant, found once: each of many may be made of two others."""
        key = (unit.path, value.start_byte)
        if key not in self._constants:
            self._constants[key] = None  # while it is looked for: one that is made of itself has none
            found = self._value(value, unit, depth)
            self._constants[key] = found if found is None or len(found) <= _LONGEST else None
        return self._constants[key]

    def _owners(self, node: Node, name: str, unit: Unit) -> Iterator[str]:
        """The classes that may have this constant, nearest first, by simple name."""
        if node.type == "field_access":
            yield text(node.child_by_field_name("object")).rpartition(".")[2]
            return
        above = node.parent
        while above is not None:
            if above.type in TYPES:
                yield text(above.child_by_field_name("name"))
            above = above.parent
        yield from filter(None, [unit.names.static_class(name), *unit.names.static_classes])
