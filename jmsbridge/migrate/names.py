"""What the name of a type means in one file: a class of the messaging API, of Spring, or of the project."""

from tree_sitter import Node

from jmsbridge import errors
from jmsbridge.java_api import INTERFACES, LEFT_OUT
from jmsbridge.java_api.others import CLASSES, EXTENDED
from jmsbridge.migrate.syntax import children, text

__all__ = ["FUNCTIONAL", "Names", "is_exception", "is_factory"]

_APIS = ("javax.jms", "jakarta.jms")
_SPRING = "org.springframework.jms"
_CLIENTS = (
    "com.datastax.oss.pulsar.jms",
    "com.ibm.jms",
    "com.ibm.mq.jakarta.jms",
    "com.ibm.mq.jms",
    "com.ibm.msg.client",
    "com.rabbitmq.jms",
    "com.solacesystems.jms",
    "org.apache.activemq",
    "org.apache.qpid.jms",
    "org.hornetq",
    "org.messaginghub.pooled.jms",
    "org.springframework.jms.connection",
)
_OTHER_APIS = (
    "org.apache.activemq.artemis.api.core",
    "org.apache.activemq.artemis.core",
    "org.apache.activemq.broker",
    "org.hornetq.api.core",
    "org.hornetq.core",
)
_BRANDS = ("ActiveMQ", "Caching", "HornetQ", "JMS", "Jms", "MQ", "Pooled", "Pulsar", "RMQ", "Single", "Sol")
"""How the names of the clients' own classes begin: what a whole package is imported for."""

FUNCTIONAL: dict[str, tuple[str, ...]] = {
    "MessageListener": ("Message",),
    "ExceptionListener": ("JMSException",),
    "SessionAwareMessageListener": ("Message", "Session"),
    "MessageCreator": ("Session",),
    "MessagePostProcessor": ("Message",),
    "SessionCallback": ("Session",),
    "ProducerCallback": ("Session", "MessageProducer"),
    "BrowserCallback": ("Session", "QueueBrowser"),
}
"""The types that a lambda may have, with those of its parameters."""

_EXCEPTIONS = frozenset(name for name in dir(errors) if name.endswith("Exception"))
_API = frozenset({*INTERFACES, *LEFT_OUT, *_EXCEPTIONS, *CLASSES, "QueueRequestor", "TopicRequestor"})
_OF_SPRING = frozenset({*CLASSES, *EXTENDED, *FUNCTIONAL})
# Longest first: a client's own class is what its name ends with.
_ENDINGS = sorted(INTERFACES, key=len, reverse=True)


def is_exception(name: str) -> bool:
    """Whether it is one of the API's exceptions."""
    return name in _EXCEPTIONS


def is_factory(name: str) -> bool:
    """Whether it is a connection factory of the API or of a client."""
    return name.endswith("ConnectionFactory")


class Names:
    """The imports of one file. ``of`` is the known class that a name means; empty if it means none."""

    def __init__(self, root: Node, own: frozenset[str] = frozenset()) -> None:
        self._single: dict[str, str] = {}
        self._packages: list[str] = []
        self._static: dict[str, str] = {}
        self.static_classes: list[str] = []
        """The classes whose static members are all imported, by simple name."""
        self.own = own
        """The classes of the project that need no import here: those of the same file and package."""
        for each in children(root, "import_declaration"):
            path = text(children(each)[0])
            has_all = any(part.type == "asterisk" for part in each.children)
            if any(part.type == "static" for part in each.children):
                owner, _, name = path.rpartition(".")
                if has_all:
                    self.static_classes.append(name)
                else:
                    self._static[name] = owner.rpartition(".")[2]
            elif has_all:
                self._packages.append(path)
            else:
                self._single[path.rpartition(".")[2]] = path

    def of(self, name: str) -> str:
        """The class of the API, of Spring or of a client that this name means, by its simple name there."""
        head, _, rest = name.partition(".")
        if head in self._single:
            return _known(".".join(filter(None, (self._single[head], rest))))
        if name in self.own or not name:
            return ""
        if "." in name and (found := _known(name)):
            return found
        packages = (
            package for package in self._packages if not package.startswith(_CLIENTS) or name.startswith(_BRANDS)
        )
        return next((found for package in packages if (found := _known(f"{package}.{name}"))), "")

    def imported(self, name: str) -> str:
        """The full name under which a simple name is imported; empty if it is not."""
        return self._single.get(name, "")

    def static_class(self, name: str) -> str:
        """The class that a static member is imported from, by simple name; empty if it is not."""
        return self._static.get(name, "")

    def may_be_from(self, name: str, packages: tuple[str, ...]) -> bool:
        """Whether this simple name is imported from one of these packages, or may be by an asterisk."""
        path = self._single.get(name)
        if path is not None:
            return path.startswith(packages)
        return any(f"{package}.".startswith(packages) for package in self._packages) and name not in self.own


def _known(path: str) -> str:
    package, _, name = path.rpartition(".")
    if package in _APIS:
        return name if name in _API else ""
    if path.startswith(_CLIENTS) and not path.startswith(_OTHER_APIS):
        return next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    if path.startswith(f"{_SPRING}."):
        return name if name in _OF_SPRING else ""
    return ""
