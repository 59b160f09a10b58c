"""Annotations: Spring's listeners, message-driven beans, injected contexts, definitions of destinations."""

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from jmsbridge.config.masking import MASK, is_secret
from jmsbridge.migrate.factories import DEFAULT, Factory
from jmsbridge.migrate.features import of_selector, of_subscription
from jmsbridge.migrate.findings import Finding, Job, Kind
from jmsbridge.migrate.index import Index, JavaClass, Unit
from jmsbridge.migrate.syntax import annotations, children, line, line_of_name, simple, text, walk
from jmsbridge.migrate.texts import Texts

__all__ = ["Beans"]

_SPRING = ("org.springframework.jms.", "org.springframework.messaging.")
_JAKARTA = ("javax.", "jakarta.")
_INJECTIONS = ("Inject", "Resource", "JMSConnectionFactory", "Autowired")
_ASSIGNED = re.compile(r"([\w.-]+\s*=\s*)([^\",;&}\s][^\",;&}]*)")
_FACTORY = "containerFactory"
_LISTENERS = ("class_declaration", "record_declaration", "enum_declaration")
_DEFINITIONS = ("JMSDestinationDefinition", "JMSConnectionFactoryDefinition")


class Beans:
    """The annotations of one file; ``findings`` and ``jobs`` have what was found."""

    def __init__(self, index: Index, unit: Unit, texts: Texts, factories: Mapping[str, Factory]) -> None:
        self._index = index
        self._unit = unit
        self._factories = factories
        self._texts = texts
        self._text = texts.of
        self._in_full = {
            "".join(text(each.child_by_field_name("name")).split())
            for each in walk(unit.root)
            if each.type in ("annotation", "marker_annotation")
        }
        self.findings: list[Finding] = []
        self.jobs: list[Job] = []

    def walk(self) -> None:
        """Look at every declaration of the file."""
        for node in walk(self._unit.root):
            if node.type == "method_declaration":
                self._listener_method(node)
            elif node.type in _LISTENERS:
                self._bean(node)
            elif node.type == "field_declaration":
                self._injection(node)

    def _is(self, name: str, packages: tuple[str, ...]) -> bool:
        in_full = (each for each in self._in_full if each.rpartition(".")[2] == name)
        return self._unit.names.may_be_from(name, packages) or any(each.startswith(packages) for each in in_full)

    # ---- Spring

    def _listener_method(self, node: Node) -> None:
        found = [pair for pair in _all(node, "JmsListeners") if pair[0] == "JmsListener"]
        if not found or not (self._is("JmsListener", _SPRING) or self._is("JmsListeners", _SPRING)):
            return
        send_to = next(
            (self._text(values.get("value")) for name, values in annotations(node) if name == "SendTo"), None
        )
        for _, values in found:
            job = self._job(node, values, send_to)
            self.jobs.append(job)
            features = _listener_features(job)
            if job.returns != "void":
                features += ("transactions", "send_transactions")
            java = f"@JmsListener({_written(values)})"
            self._add(node, "annotation", java, _decorator(job), features)

    def _job(self, node: Node, values: Mapping[str, Node], send_to: str | None) -> Job:
        settings: dict[str, object] = {}
        made_by = self._text(values[_FACTORY]) if _FACTORY in values else DEFAULT
        factory = self._factories.get(made_by or "", Factory(made_by == DEFAULT and self._texts.sends_to_topics))
        concurrency = _concurrency(self._text(values.get("concurrency")) or factory.concurrency)
        if concurrency is not None:
            settings["concurrency"] = concurrency
        for name in ("selector", "subscription"):
            value = self._text(values.get(name))
            if value and "${" not in value:
                settings[name] = value
        if send_to is not None:
            settings["send_to"] = send_to
        made = self._made(node, self._text(values.get("destination")), settings)
        understood = {*settings, *((_FACTORY,) if made_by in self._factories else ())}
        made.remarks = [
            _written({name: values[name]})
            for name in ("selector", "subscription", "concurrency", _FACTORY)
            if name in values and name not in understood and self._text(values[name]) != ""
        ]
        self._made_by(factory, made)
        if made.destination is not None and (factory.is_topic or "subscription" in settings):
            made.destination = f"topic:{made.destination}"
        made.returns = text(node.child_by_field_name("type")) or "void"
        made.takes = [
            self._parameter(each) for each in children(node.child_by_field_name("parameters"), "formal_parameter")
        ]
        return made

    def _made_by(self, factory: Factory, job: Job) -> None:
        """Add what the factory says of subscriptions, transactions and the client id."""
        if factory.durable or factory.shared:
            job.settings.setdefault("subscription", f"{self._unit.package}.{job.owner}.{job.method}".lstrip("."))
            kind = {"durable": factory.durable, "shared": factory.shared}
            job.settings.update({name: False for name, value in kind.items() if not value})
        if factory.transacted:
            job.settings["transacted"] = True
        job.client_id = factory.client_id

    def _parameter(self, node: Node) -> tuple[str, str, str | None]:
        marks = dict(annotations(node))
        header = marks.get("Header")
        name = text(node.child_by_field_name("name"))
        called = None
        if header is not None:
            given = header.get("value") or header.get("name")
            called = name if given is None else self._text(given)
            if called is None:  # such as JmsHeaders.MESSAGE_ID, which is in the message
                return name, "Message", None
        # All headers together are those of the message.
        return name, "Message" if "Headers" in marks else text(node.child_by_field_name("type")), called

    def _made(self, method: Node, destination: str | None, settings: dict[str, object]) -> Job:
        owner = method if method.type in _LISTENERS else method.parent
        while owner is not None and owner.type not in _LISTENERS:
            owner = owner.parent
        name = text(owner.child_by_field_name("name")) if owner is not None else ""
        called = text(method.child_by_field_name("name"))
        return Job("listener", self._unit.path, line_of_name(method), name, called, destination, settings)

    # ---- message-driven beans, listeners of the API

    def _bean(self, node: Node) -> None:
        values = dict(_all(node, "JMSDestinationDefinitions", "JMSConnectionFactoryDefinitions"))
        for name, given in _all(node, "JMSDestinationDefinitions", "JMSConnectionFactoryDefinitions"):
            if name in _DEFINITIONS and self._is(name, _JAKARTA):
                self._definition(node, name, given)
        found = self._index.of_node.get((self._unit.path, node.start_byte))
        driven = values.get("MessageDriven") if self._is("MessageDriven", _JAKARTA) else None
        if found is None or not self._listens(found) or (driven is None and _is_abstract(node)):
            return
        method = _on_message(node)
        if method is None and driven is None:  # a class that inherits it may be anything
            return
        job = self._driven(node, node if method is None else method, driven or {})
        manages_itself = "BEAN" in " ".join(map(text, values.get("TransactionManagement", {}).values()))
        if manages_itself:
            job.settings.pop("transacted", None)
        self.jobs.append(job)
        java = (
            f"@MessageDriven({', '.join(f'{k}={_shown(k, v)}' for k, v in self._config(driven).items())})"
            if driven is not None
            else ""
        )
        java = java or f"class {found.name} implements MessageListener"
        features = _listener_features(job)
        if driven is not None and not manages_itself:
            features = (*features, "transactions", "send_transactions")
        where = node if driven is None else node.child_by_field_name("name") or node
        self._found(where, "class" if driven is None else "annotation", java, _decorator(job), features)

    def _listens(self, found: JavaClass) -> bool:
        kinds = self._index.lineage(f"project:{found.name}", self._unit)
        return any(each in ("MessageListener", "SessionAwareMessageListener") for each in kinds)

    def _driven(self, node: Node, method: Node, values: Mapping[str, Node]) -> Job:
        config = self._config(values)
        destination = (
            config.get("destinationLookup") or config.get("destination") or self._text(values.get("mappedName"))
        )
        settings: dict[str, object] = {}
        if config.get("messageSelector"):
            settings["selector"] = config["messageSelector"]
        if destination is not None and config.get("destinationType", "").endswith("Topic"):
            destination = f"topic:{destination}"
            if config.get("subscriptionDurability", "").lower() == "durable":
                settings["subscription"] = config.get("subscriptionName") or text(node.child_by_field_name("name"))
                settings["shared"] = False
        elif config.get("maxSession", "").isdigit() and int(config["maxSession"]) > 1:
            settings["concurrency"] = int(config["maxSession"])
        if values:
            settings["transacted"] = True  # the container's default
        job = self._made(method, destination, settings)
        job.method = "onMessage"
        job.client_id = config.get("clientId")
        if destination is not None and destination.removeprefix("topic:").startswith("java:"):
            job.remarks = [f"{destination.removeprefix('topic:')}, a name of JNDI"]
        job.takes = [("message", "Message", None)]
        return job

    def _definition(self, node: Node, name: str, values: Mapping[str, Node]) -> None:
        called = self._text(values.get("destinationName")) or self._text(values.get("name")) or "…"
        kind = "Topic" if "Topic" in (self._text(values.get("interfaceName")) or "") else "Queue"
        python = f'{kind}("{called}")' if name == "JMSDestinationDefinition" else "a profile in jmsbridge.toml"
        self._add(node, "annotation", f"@{name}({_written(values)})", python)

    def _config(self, values: Mapping[str, Node]) -> dict[str, str]:
        """The properties of ``activationConfig``."""
        found: dict[str, str] = {}
        given = values.get("activationConfig")
        for each in walk(given) if given is not None else ():
            if each.type == "annotation":
                pair = _pairs(each)
                name, value = self._text(pair.get("propertyName")), self._text(pair.get("propertyValue"))
                if name is not None and value is not None:
                    found[name] = value
        return found

    # ---- injection

    def _injection(self, node: Node) -> None:
        kind = self._index.resolve(simple(node.child_by_field_name("type")), self._unit.names)
        names = dict(annotations(node))
        wanted = next((each for each in _INJECTIONS if each in names), None)
        python = _INJECTED.get(kind)
        if wanted is None or python is None:
            return
        declared = text(node.child_by_field_name("type"))
        self._add(node, "injection", f"@{wanted} {declared}", python)

    def _add(self, node: Node, kind: Kind, java: str, python: str, features: tuple[str, ...] = ()) -> None:
        self._found(node.child_by_field_name("name") or node, kind, java, python, features)

    def _found(self, node: Node, kind: Kind, java: str, python: str, features: tuple[str, ...]) -> None:
        needed = tuple(dict.fromkeys(features))
        self.findings.append(Finding(self._unit.path, line(node), kind, java, python, needed))


_INJECTED = {
    "JMSContext": "with jmsbridge.context(target) as context: …",
    "ConnectionFactory": "ConnectionFactory(target)",
    "QueueConnectionFactory": "jmsbridge.domain.QueueConnectionFactory(target)",
    "TopicConnectionFactory": "jmsbridge.domain.TopicConnectionFactory(target)",
    "Queue": "Queue(name)",
    "Topic": "Topic(name)",
    "Destination": "Queue(name) or Topic(name)",
    "JmsTemplate": "Template(target)",
    "JmsMessagingTemplate": "Template(target)",
    "JmsClient": "Template(target)",
}


def _all(node: Node, *containers: str) -> Iterator[tuple[str, dict[str, Node]]]:
    """The annotations of a declaration, those inside of these containers included."""
    for name, values in annotations(node):
        yield name, values
        if name in containers and "value" in values:
            for each in walk(values["value"]):
                if each.type == "annotation":
                    yield text(each.child_by_field_name("name")).rpartition(".")[2], _pairs(each)


def _pairs(annotation: Node) -> dict[str, Node]:
    pairs = children(annotation.child_by_field_name("arguments"), "element_value_pair")
    found = ((text(each.child_by_field_name("key")), each.child_by_field_name("value")) for each in pairs)
    return {name: value for name, value in found if value is not None}


def _written(values: Mapping[str, Node]) -> str:
    return ", ".join(f"{name} = {_shown(name, ' '.join(text(value).split()))}" for name, value in values.items())


def _shown(name: str, value: str) -> str:
    """A value for the report, without secrets, which may also be in a list of properties such as ``"password=x"``."""
    return MASK if is_secret(name) else _ASSIGNED.sub(lambda it: f"{it[1]}{MASK if is_secret(it[1]) else it[2]}", value)


def _concurrency(given: str | None) -> object:
    """``"3-10"`` as a pair, ``"4"`` as one number of consumers; Spring counts from one if there is one number."""
    least, dash, most = (given or "").partition("-")
    if not (least.strip().isdigit() and (most.strip().isdigit() or not dash)):
        return None
    if not dash:
        return int(least) if int(least) > 0 else None
    if not 0 < int(least) <= int(most):
        return None
    return int(least) if int(least) == int(most) else (int(least), int(most))


def _is_abstract(node: Node) -> bool:
    return any(part.type == "abstract" for holder in children(node, "modifiers") for part in holder.children)


def _on_message(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    inside = [body, *children(body, "enum_body_declarations")]
    methods = [each for part in inside for each in children(part, "method_declaration")]
    return next((each for each in methods if text(each.child_by_field_name("name")) == "onMessage"), None)


def _listener_features(job: Job) -> tuple[str, ...]:
    kind = "Topic" if (job.destination or "").startswith("topic:") else "Queue" if job.destination else ""
    selector = of_selector(kind) if "selector" in job.settings else ()
    named = "subscription" in job.settings
    durable = job.settings.get("durable", named) is True
    return (*selector, *of_subscription(durable, job.settings.get("shared", named) is True))


def _decorator(job: Job) -> str:
    settings = "".join(f", {name}={value!r}" for name, value in job.settings.items())
    return f"@app.listener({job.destination!r}{settings})" if job.destination else f"@app.listener(…{settings})"
