"""The classes of the project: their fields, methods and parents, so that calls in one file know those of another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from jmsbridge.migrate.names import Names
from jmsbridge.migrate.syntax import TYPES, children, line_of_name, simple, text, walk

__all__ = ["Index", "JavaClass", "JavaMethod", "Unit", "bounds_of", "declared"]


@dataclass
class Unit:
    """One file: its path as it is shown, its tree, its package and imports."""

    path: str
    root: Node
    package: str
    names: Names


@dataclass(frozen=True)
class JavaMethod:
    """A method of the project: its name, how many parameters it takes, and the type that it returns."""

    name: str
    takes: int
    returns: str


@dataclass
class JavaClass:
    """A class of the project. Types are names as ``Index.resolve`` returns them."""

    name: str
    unit: Unit
    node: Node
    outer: "JavaClass | None"
    parents: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    methods: list[JavaMethod] = field(default_factory=list)
    constants: dict[str, Node] = field(default_factory=dict)
    """What the fields are given that never change."""


class Index:
    """All classes of the project by simple name. A type is the name of a class of the API, or ``project:NAME``."""

    def __init__(self, units: list[Unit]) -> None:
        self.classes: dict[str, list[JavaClass]] = {}
        self.of_node: dict[tuple[str, int], JavaClass] = {}
        self.too_deep: list[tuple[str, int]] = []
        """Files and lines of classes that are nested too deeply to be read as a whole."""
        for unit in units:
            unit.names.own = frozenset(text(each.child_by_field_name("name")) for each in _declarations(unit.root))
        packages: dict[str, set[str]] = {}
        for unit in units:
            packages.setdefault(unit.package, set()).update(unit.names.own)
        for unit in units:
            unit.names.own = frozenset(packages[unit.package])
            for declaration in _declarations(unit.root):
                self._add(declaration, unit)
        for found in self.of_node.values():
            try:
                self._fill(found)
            except RecursionError:
                self.too_deep.append((found.unit.path, line_of_name(found.node)))

    def _add(self, node: Node, unit: Unit) -> None:
        above = node.parent
        while above is not None and above.type not in TYPES:
            above = above.parent
        outer = None if above is None else self.of_node.get((unit.path, above.start_byte))
        made = JavaClass(text(node.child_by_field_name("name")), unit, node, outer)
        self.classes.setdefault(made.name, []).append(made)
        self.of_node[unit.path, node.start_byte] = made

    def _fill(self, found: JavaClass) -> None:
        names = found.unit.names
        found.parents = [resolved for each in _parents(found.node) if (resolved := self.resolve(simple(each), names))]
        bounds = bounds_of(found.node)
        for parameter in children(found.node.child_by_field_name("parameters"), "formal_parameter"):  # of a record
            for name, kind in declared(parameter):
                found.fields[name] = self.type_of(kind, names, bounds)
                found.methods.append(JavaMethod(name, 0, found.fields[name]))
        for member in _members(found.node):
            if member.type == "field_declaration":
                for name, kind in declared(member):
                    found.fields[name] = self.type_of(kind, names, bounds)
                found.constants |= _constants(member)
            elif member.type == "constant_declaration":  # of an interface
                found.constants |= _constants(member)
            elif member.type == "method_declaration":
                takes = len(children(member.child_by_field_name("parameters"), "formal_parameter", "spread_parameter"))
                returns = self.type_of(member.child_by_field_name("type"), names, bounds | bounds_of(member))
                found.methods.append(JavaMethod(text(member.child_by_field_name("name")), takes, returns))

    def resolve(self, name: str, names: Names) -> str:
        """What a type name means in a file; empty for a class that nothing is known of."""
        known = names.of(name)
        if known:
            return known
        last = name.rpartition(".")[2]
        return f"project:{last}" if last in self.classes else ""

    def type_of(self, kind: Node | None, names: Names, bounds: Mapping[str, str]) -> str:
        """The same of a type as it is written; ``Session<>`` is anything with sessions, by its last type argument.

        ``bounds`` has the type variables, with what they extend.
        """
        name = simple(kind)
        found = self.resolve(bounds.get(name, name), names)
        if found or kind is None:
            return found
        if kind.type == "wildcard":
            return self.type_of(next(reversed(children(kind)), None), names, bounds)
        arguments = children(kind, "type_arguments") if kind.type == "generic_type" else []
        elements = self.type_of(next(reversed(children(arguments[0])), None), names, bounds) if arguments else ""
        return f"{elements}<>" if elements else ""

    def project_class(self, kind: str, near: Unit) -> JavaClass | None:
        """The class of the project that a type is, in the package of ``near`` if there are several."""
        found = self.classes.get(kind.removeprefix("project:"), []) if kind.startswith("project:") else []
        imported = near.names.imported(kind.removeprefix("project:")).rpartition(".")[0]
        wanted = imported or near.package
        return next((each for each in found if each.unit.package == wanted), found[0] if found else None)

    def lineage(self, kind: str, near: Unit) -> Iterator[JavaClass | str]:
        """The class and what it extends, nearest first: classes of the project, and names of the API."""
        todo, seen = [kind], set()
        while todo:
            each = todo.pop(0)
            if each in seen or not each:
                continue
            seen.add(each)
            found = self.project_class(each, near)
            if found is None:
                yield each
            else:
                yield found
                todo += found.parents


def declared(node: Node) -> Iterator[tuple[str, Node | None]]:
    """The names that a declaration of fields, variables, parameters or resources declares, with their type."""
    kind = node.child_by_field_name("type")
    if node.type == "spread_parameter":  # an array, of which nothing is called
        return
    name = node.child_by_field_name("name")
    if name is not None:
        yield text(name), kind
    for each in children(node, "variable_declarator"):
        yield text(each.child_by_field_name("name")), None if each.child_by_field_name("dimensions") else kind


def _constants(node: Node) -> dict[str, Node]:
    words = {part.type for holder in children(node, "modifiers") for part in holder.children}
    if node.type == "field_declaration" and "final" not in words:
        return {}
    given = ((text(each.child_by_field_name("name")), each) for each in children(node, "variable_declarator"))
    return {name: value for name, each in given if (value := each.child_by_field_name("value")) is not None}


def bounds_of(declaration: Node) -> dict[str, str]:
    """The type variables of a class or method, with what they extend."""
    found = {}
    for each in children(declaration, "type_parameters"):
        for parameter in children(each, "type_parameter"):
            names, bound = children(parameter, "type_identifier", "identifier"), children(parameter, "type_bound")
            if names and bound:
                found[text(names[0])] = simple(children(bound[0])[0])
    return found


def _declarations(root: Node) -> Iterator[Node]:
    return (each for each in walk(root) if each.type in TYPES)


def _members(node: Node) -> Iterator[Node]:
    for body in children(node.child_by_field_name("body")):
        if body.type == "enum_body_declarations":
            yield from children(body)
        else:
            yield body


def _parents(node: Node) -> Iterator[Node]:
    for each in children(node, "superclass", "super_interfaces", "extends_interfaces"):
        for inner in children(each):
            yield from children(inner) if inner.type == "type_list" else [inner]
