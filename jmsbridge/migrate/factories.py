"""Spring's factories of listener containers and templates: what their beans say of listeners and of sends."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tree_sitter import Node

from jmsbridge.migrate.index import Unit, declared
from jmsbridge.migrate.syntax import annotations, children, simple, text, walk
from jmsbridge.migrate.texts import Texts

__all__ = ["DEFAULT", "Factory", "factories", "topic_senders"]

DEFAULT = "jmsListenerContainerFactory"
"""The name of the factory of a listener that names none."""


class Factory(NamedTuple):
    """What one bean says."""

    is_topic: bool = False
    durable: bool = False
    shared: bool = False
    transacted: bool = False
    concurrency: str | None = None
    client_id: str | None = None


def factories(units: Sequence[Unit], texts: Mapping[str, Texts]) -> dict[str, Factory]:
    """The factories by the names of their beans; left out are those whose beans of one name say different things.

    ``texts`` are those of each file, by its path.
    """
    found: dict[str, set[Factory]] = {}
    for name, bean, known in _beans(units, texts, "JmsListenerContainerFactory"):
        found.setdefault(name, set()).add(_factory(bean, known))
    return {name: said.pop() for name, said in found.items() if len(said) == 1}


def topic_senders(units: Sequence[Unit], texts: Mapping[str, Texts]) -> dict[str, frozenset[str]]:
    """By file, the names of the templates that send to topics: of beans, of what is injected, and of variables."""
    beans = {
        name
        for name, bean, _ in _beans(units, texts, "JmsTemplate")
        if text(_said(bean).get("setPubSubDomain")) == "true"
    }
    return {unit.path: frozenset({*beans, *_other_names(unit, texts[unit.path], beans)}) for unit in units}


def _other_names(unit: Unit, texts: Texts, beans: set[str]) -> Iterator[str]:
    for node in walk(unit.root):
        if node.type in ("field_declaration", "formal_parameter"):
            if any(mark == "Qualifier" and texts.of(given.get("value")) in beans for mark, given in annotations(node)):
                yield from (name for name, _ in declared(node))
        elif node.type == "method_invocation" and text(node.child_by_field_name("name")) == "setPubSubDomain":
            given = children(node.child_by_field_name("arguments"))
            if text(given[0] if given else None) == "true" and not _is_in_bean(node):
                yield text(node.child_by_field_name("object")).rpartition(".")[2]


def _is_in_bean(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type != "method_declaration":
        above = above.parent
    return above is not None and any(mark == "Bean" for mark, _ in annotations(above))


def _beans(units: Sequence[Unit], texts: Mapping[str, Texts], kind: str) -> Iterator[tuple[str, Node, Texts]]:
    """The beans of this kind: the name, the method, and the texts of its file."""
    for unit in units:
        known = texts[unit.path]
        for node in walk(unit.root):
            if node.type == "method_declaration" and simple(node.child_by_field_name("type")).endswith(kind):
                own = text(node.child_by_field_name("name"))
                for mark, values in annotations(node):
                    if mark == "Bean":
                        yield known.of(values.get("value") or values.get("name")) or own, node, known


def _factory(bean: Node, texts: Texts) -> Factory:
    said = _said(bean)
    durable, shared = (text(said.get(name)) == "true" for name in ("setSubscriptionDurable", "setSubscriptionShared"))
    by_boot = "configure" in said and "setPubSubDomain" not in said and texts.sends_to_topics
    return Factory(
        durable or shared or by_boot or text(said.get("setPubSubDomain")) == "true",
        durable,
        shared,
        text(said.get("setSessionTransacted")) == "true",
        texts.of(said.get("setConcurrency")),
        texts.of(said.get("setClientId")),
    )


def _said(bean: Node) -> Mapping[str, Node]:
    """The first argument of each call in the method of a bean, by the name of what is called."""
    found: dict[str, Node] = {}
    for each in walk(bean):
        arguments = children(each.child_by_field_name("arguments")) if each.type == "method_invocation" else []
        if arguments:
            found[text(each.child_by_field_name("name"))] = arguments[0]
    return found
