"""What a consumer was created for: the destination, selector and subscription of a listener that is set on it."""

from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from jmsbridge.migrate.syntax import children, text

__all__ = ["Consumed", "Meaning", "consumed", "written_here"]

_PLAIN = ("createConsumer", "createReceiver", "createSubscriber")
_SUBSCRIPTIONS: dict[str, dict[str, object]] = {
    "createDurableConsumer": {"shared": False},
    "createDurableSubscriber": {"shared": False},
    "createSharedConsumer": {"durable": False},
    "createSharedDurableConsumer": {},
}


class Consumed(NamedTuple):
    """A destination, as a ``Job`` has it, and arguments of ``App.listener``."""

    destination: str | None
    settings: dict[str, object]


class Meaning(NamedTuple):
    """What a variable means, as far as the sources say it: a text or a destination, or what it consumes."""

    text: str | None = None
    consumed: Consumed | None = None


def consumed(creation: Node | None, target: Callable[[Node], str | None]) -> Consumed | None:
    """What a call that creates a consumer says; None if it is another call. ``target`` says what an argument means."""
    if creation is None or creation.type != "method_invocation":
        return None
    name = text(creation.child_by_field_name("name"))
    arguments = children(creation.child_by_field_name("arguments"))
    if not arguments or name not in (*_PLAIN, *_SUBSCRIPTIONS):
        return None
    destination, *more = [target(each) for each in arguments]
    settings: dict[str, object] = {}
    if name in _SUBSCRIPTIONS:
        if more and more[0] is not None and destination is not None:
            settings = {"subscription": more[0], **_SUBSCRIPTIONS[name]}
            destination = f"topic:{destination.removeprefix('topic:')}"
        more = more[1:]
    if more and more[0]:
        settings["selector"] = more[0]
    return Consumed(destination, settings)


def written_here(listener: Node) -> str:
    """The name of the method of a listener that is written where it is set; empty for one of a class with a name."""
    if listener.type == "method_reference":
        return text(children(listener)[-1])
    is_here = listener.type == "lambda_expression" or bool(children(listener, "class_body"))
    return "onMessage" if is_here else ""
