"""The part of JNDI with which Java programs find factories and destinations."""

from typing import Any

import jpype

from integration.conformance import machine
from jmsbridge import ConnectionFactory, Queue, Topic
from jmsbridge.domain import QueueConnectionFactory, TopicConnectionFactory

__all__ = ["FACTORIES", "Naming", "install"]

FACTORIES = {
    "ConnectionFactory": ConnectionFactory,
    "QueueConnectionFactory": QueueConnectionFactory,
    "TopicConnectionFactory": TopicConnectionFactory,
}
"""Names under which ``install`` binds the factories."""


@machine.implements("java.lang.reflect.InvocationHandler")
class _Context:
    """A ``javax.naming.Context`` with ``lookup`` and ``close``."""

    def __init__(self, naming: "Naming") -> None:
        self._naming = naming

    @machine.override
    def invoke(self, proxy: Any, method: Any, arguments: Any) -> Any:
        name = str(method.getName())
        if name not in ("lookup", "close"):
            raise jpype.JClass("javax.naming.OperationNotSupportedException")(name)
        try:
            return self._naming.look_up(str(arguments[0])) if name == "lookup" else None
        except Exception as error:
            raise self._naming.faces.errors.to_java(error, checked=False) from error


class Naming:
    """Names and the Python objects bound to them, seen through their faces."""

    def __init__(self, faces: Any) -> None:
        self.names: dict[str, Any] = {}
        self.faces = faces

    def look_up(self, name: str) -> Any:
        """Look up a bound name, or ``queue/NAME`` or ``topic/NAME``, which need not be bound."""
        kind, _, rest = name.partition("/")
        found = self.names.get(name)
        if found is None and rest and kind in ("queue", "topic"):
            found = Queue(rest) if kind == "queue" else Topic(rest)
        if found is None:
            known = ", ".join(sorted(self.names))
            raise jpype.JClass("javax.naming.NameNotFoundException")(f"{name}: known are {known}, queue/…, topic/…")
        return self.faces.of(found)

    def context(self) -> Any:
        """A Java context over these names."""
        return machine.proxy("javax.naming.Context", _Context(self))


def install(faces: Any, url: str | None) -> None:
    """Make ``new InitialContext()`` find factories for that target, in the whole process."""
    naming = Naming(faces)
    naming.names.update({name: kind(url) for name, kind in FACTORIES.items()})
    context = jpype.JProxy(
        "javax.naming.spi.InitialContextFactory", dict={"getInitialContext": lambda _: naming.context()}
    )
    builder = jpype.JProxy(
        "javax.naming.spi.InitialContextFactoryBuilder", dict={"createInitialContextFactory": lambda _: context}
    )
    jpype.JClass("javax.naming.spi.NamingManager").setInitialContextFactoryBuilder(builder)
