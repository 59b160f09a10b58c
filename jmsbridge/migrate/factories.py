"""The factories of Spring's listener containers: what their beans say of the listeners that they make."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from tree_sitter import Node

from jmsbridge.migrate.index import Unit
from jmsbridge.migrate.syntax import annotations, children, simple, text, walk
from jmsbridge.migrate.texts import Texts

__all__ = ["DEFAULT", "Factory", "factories"]

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


def factories(units: Iterable[Unit], texts_of: Callable[[Unit], Texts]) -> dict[str, Factory]:
    """The factories by the names of their beans; left out are those whose beans of one name say different things."""
    found: dict[str, set[Factory]] = {}
    for unit in units:
        texts = texts_of(unit)
        for node in walk(unit.root):
            for name in _names(node, texts):
                found.setdefault(name, set()).add(_factory(node, texts))
    return {name: said.pop() for name, said in found.items() if len(said) == 1}


def _names(node: Node, texts: Texts) -> Iterator[str]:
    """The names of a bean that is such a factory."""
    if node.type != "method_declaration":
        return
    if simple(node.child_by_field_name("type")).endswith("JmsListenerContainerFactory"):
        for mark, values in annotations(node):
            if mark == "Bean":
                yield texts.of(values.get("value") or values.get("name")) or text(node.child_by_field_name("name"))


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
