"""Java sources as trees: parsed by tree-sitter, with the few questions that the other modules ask of a node."""

from collections.abc import Callable, Iterator
from functools import cache
from textwrap import dedent

from tree_sitter import Language, Node, Parser
from tree_sitter_java import language

__all__ = [
    "TYPES",
    "annotations",
    "children",
    "first_error",
    "line",
    "line_of_name",
    "parse",
    "simple",
    "text",
    "value_of",
    "walk",
]

TYPES = frozenset(
    {
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    }
)
"""The kinds of nodes that declare a class with a name."""


@cache
def _parser() -> Parser:
    return Parser(Language(language()))


def parse(data: bytes) -> Node:
    """The tree of one file; where it is not Java, it has nodes of kind ERROR."""
    return _parser().parse(data).root_node


def first_error(root: Node) -> Node | None:
    """The first place where the file is not Java; None if all of it is."""
    if not root.has_error:
        return None
    return next((node for node in walk(root) if node.is_error or node.is_missing), root)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo.extend(reversed(each.children))


def children(node: Node | None, *kinds: str) -> list[Node]:
    """The named children, of these kinds if any are given; comments are left out."""
    if node is None:
        return []
    named = [each for each in node.named_children if not each.type.endswith("comment")]
    return [each for each in named if each.type in kinds] if kinds else named


def text(node: Node | None) -> str:
    """The text of a node; empty for none."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def line(node: Node) -> int:
    """The line of its first character, from 1."""
    return node.start_point[0] + 1


def line_of_name(declaration: Node) -> int:
    """The line of the name of a class or method, which may have annotations before it."""
    return line(declaration.child_by_field_name("name") or declaration)


def simple(node: Node | None) -> str:
    """The name of a type as it is written, without type arguments, dimensions and annotations."""
    if node is None:
        return ""
    if node.type in {"generic_type", "array_type", "annotated_type", "catch_type"}:
        inner = [each for each in node.named_children if not each.type.endswith("annotation")]
        return simple(inner[0]) if inner else ""
    return "".join(text(node).split())


def annotations(declaration: Node) -> Iterator[tuple[str, dict[str, Node]]]:
    """The annotations of a declaration by simple name, each with its values; a value alone is called ``value``."""
    for modifiers in children(declaration, "modifiers"):
        for each in children(modifiers, "annotation", "marker_annotation"):
            yield text(each.child_by_field_name("name")).rpartition(".")[2], _values(each)


def _values(annotation: Node) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for each in children(annotation.child_by_field_name("arguments")):
        if each.type == "element_value_pair":
            value = each.child_by_field_name("value")
            if value is not None:
                found[text(each.child_by_field_name("key"))] = value
        else:
            found["value"] = each
    return found


def value_of(node: Node | None, constant: Callable[[Node], str | None]) -> str | None:
    """The text of a string literal, of a constant, or of several that are joined; None for anything else.

    ``constant`` has the text of a name such as ``ORDERS`` or ``Queues.ORDERS``, or None.
    """
    if node is None:
        return None
    if node.type == "string_literal":
        units = "".join(_piece(each) for each in node.named_children)
        found = units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # joins pairs of escapes
        return _block(found) if text(node).startswith('"""') else found
    if node.type in ("identifier", "field_access"):
        return constant(node)
    if node.type in ("parenthesized_expression", "element_value_array_initializer") and len(children(node)) == 1:
        return value_of(children(node)[0], constant)
    if node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "+":
        parts = [value_of(node.child_by_field_name(side), constant) for side in ("left", "right")]
        return None if None in parts else "".join(part or "" for part in parts)
    return None


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "s": " "}


def _piece(node: Node) -> str:
    found = text(node)
    if node.type != "escape_sequence":
        return found
    rest = found[1:]
    if rest.startswith("u"):
        return chr(int(rest.lstrip("u"), 16))
    return chr(int(rest, 8)) if rest.isdigit() else _ESCAPES.get(rest, rest)


def _block(found: str) -> str:
    """The text of a text block: without the rest of its first line, common indentation and spaces at ends of lines."""
    lines = dedent(found.partition("\n")[2]).split("\n")
    return "\n".join(each.rstrip() for each in lines)
