"""Walks through one file: scopes of variables, types of expressions, and the calls of the API's methods."""

from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from jmsbridge.migrate.consumers import Consumed, Meaning, consumed, written_here
from jmsbridge.migrate.features import needs
from jmsbridge.migrate.findings import Finding, Job
from jmsbridge.migrate.index import Index, JavaClass, Unit, bounds_of, declared
from jmsbridge.migrate.methods import Method, method_of
from jmsbridge.migrate.names import FUNCTIONAL, is_exception, is_factory
from jmsbridge.migrate.syntax import TYPES, annotations, children, line, line_of_name, simple, text
from jmsbridge.migrate.texts import Texts

__all__ = ["Calls"]

_LITERALS = {
    "string_literal": "String",
    "decimal_integer_literal": "int",
    "true": "boolean",
    "false": "boolean",
}
_IN_TEMPLATES = {"execute": ("Session", "MessageProducer"), "browse": ("Session", "QueueBrowser")}
_GOES_OVER = {
    "forEach",
    "forEachRemaining",
    "filter",
    "map",
    "flatMap",
    "anyMatch",
    "allMatch",
    "noneMatch",
    "removeIf",
}
_GOES_OVER |= {"ifPresent", "ifPresentOrElse", "thenAccept", "thenApply"}
_HAS_THE_SAME = {"iterator", "listIterator", "stream", "parallelStream", "values", "subList"}
_HAS_THE_SAME |= {"filter", "sorted", "distinct", "limit", "skip", "findFirst", "findAny"}
_SENDS = {"send", "publish", "convertAndSend", "sendAndReceive", "convertSendAndReceive"}
_CREATES = {"createQueue": "", "createTopic": "topic:"}


class Calls:
    """The calls of one file; ``findings`` and ``jobs`` have what was found."""

    def __init__(self, index: Index, unit: Unit, texts: Texts, topic_senders: frozenset[str]) -> None:
        self._index = index
        self._unit = unit
        self._texts = texts
        self._topic_senders = topic_senders
        self._scopes: list[dict[str, str]] = []
        self._meanings: list[dict[str, Meaning | None]] = []  # None for what has no value yet
        self._class_scopes: list[int] = []  # where those of classes are
        self._bounds: list[dict[str, str]] = []  # of type variables
        self._classes: list[JavaClass] = []
        self._types: dict[int, str] = {}
        self._sender: Job | None = None
        self.findings: list[Finding] = []
        self.jobs: list[Job] = []
        self.listeners: list[tuple[str, Consumed]] = []
        """The classes whose objects are set as listeners, and on what."""
        self._visits: dict[str, Callable[[Node], None]] = {
            "method_invocation": self._call,
            "method_reference": self._reference,
            "object_creation_expression": self._creation,
            "lambda_expression": self._lambda,
            "method_declaration": self._method,
            "constructor_declaration": self._method,
            "import_declaration": lambda node: None,
            **dict.fromkeys(TYPES, self._class),
            **dict.fromkeys(("local_variable_declaration", "resource", "field_declaration"), self._variables),
            **dict.fromkeys(("formal_parameter", "catch_formal_parameter"), self._variables),
            **dict.fromkeys(("block", "constructor_body", "for_statement", "switch_block"), self._block),
            **dict.fromkeys(("try_with_resources_statement", "catch_clause"), self._block),
            "assignment_expression": self._assignment,
            "enhanced_for_statement": self._for_each,
            "instanceof_expression": self._instance,
            **dict.fromkeys(("type_pattern", "record_pattern_component"), self._pattern),
        }

    def walk(self) -> None:
        """Walk through the file once."""
        self._visit(self._unit.root)

    # ---- scopes

    def _visit(self, node: Node) -> None:
        handler = self._visits.get(node.type)
        if handler is None:
            self._inside(node)
        else:
            handler(node)

    def _inside(self, node: Node) -> None:
        for each in node.named_children:
            self._visit(each)

    def _scoped(self, names: dict[str, str], node: Node) -> None:
        self._scopes.append(names)
        self._meanings.append({})
        self._inside(node)
        self._meanings.pop()
        self._scopes.pop()

    def _block(self, node: Node) -> None:
        self._scoped({}, node)

    def _class(self, node: Node) -> None:
        found = self._index.of_node.get((self._unit.path, node.start_byte))
        if found is None:
            return
        outer = self._sender
        self._sender = None
        self._classes.append(found)
        self._bounds.append(bounds_of(node))
        self._class_scopes.append(len(self._meanings))
        self._scoped(dict(found.fields), node)
        self._class_scopes.pop()
        self._bounds.pop()
        self._classes.pop()
        self._sender = outer

    def _method(self, node: Node) -> None:
        outer = self._sender
        owner = self._classes[-1].name if self._classes else ""
        job = Job("sender", self._unit.path, line_of_name(node), owner, text(node.child_by_field_name("name")))
        self._sender = job
        self._bounds.append(bounds_of(node))
        self._scoped({}, node)
        self._bounds.pop()
        self._sender = outer
        if job.sends:
            self.jobs.append(job)

    def _variables(self, node: Node) -> None:
        if node.type == "catch_formal_parameter":
            for caught in children(node, "catch_type"):
                self._scopes[-1][text(node.child_by_field_name("name"))] = self._resolve(caught)
            return
        self._inside(node)
        for name, kind in declared(node):
            value = self._initial(node, name)
            known = self._resolve(kind) if simple(kind) != "var" else self.type_of(value)
            if node.type == "resource" and method_of(known, "close", ()):
                written = f"try ({known} {name} = …)"
                self.findings.append(Finding(self._unit.path, line(node), "call", written, f"with … as {name}:"))
            if self._scopes:
                self._scopes[-1][name] = known
                self._meanings[-1][name] = self._declared(node, value)

    def _declared(self, node: Node, value: Node | None) -> Meaning | None:
        if value is not None:
            return self._meaning(value)
        if (injected := self._injected(node)) is not None:
            return Meaning(injected)
        return None if node.type in ("field_declaration", "local_variable_declaration") else Meaning()

    def _meaning(self, value: Node) -> Meaning:
        return Meaning(self._target_of(value), consumed(value, self._target_of))

    def _assignment(self, node: Node) -> None:
        """What has a value already and is assigned again means nothing in particular."""
        self._inside(node)
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        name, scope = self._scope_of(left)
        if name in scope:
            scope[name] = self._meaning(right) if scope[name] is None and right is not None else Meaning()

    def _injected(self, node: Node) -> str | None:
        """The text of ``@Value("${orders.queue}")``, where the configuration has it."""
        found = next((self._texts.of(each.get("value")) for name, each in annotations(node) if name == "Value"), None)
        return None if found is None or "${" in found or "#{" in found else found

    @staticmethod
    def _initial(node: Node, name: str) -> Node | None:
        if node.type == "resource":
            return node.child_by_field_name("value")
        for each in children(node, "variable_declarator"):
            if text(each.child_by_field_name("name")) == name:
                return each.child_by_field_name("value")
        return None

    def _for_each(self, node: Node) -> None:
        name, kind = text(node.child_by_field_name("name")), node.child_by_field_name("type")
        known = self._resolve(kind)
        if simple(kind) == "var":
            known = self.type_of(node.child_by_field_name("value")).removesuffix("[]").removesuffix("<>")
        self._scoped({name: known}, node)

    def _instance(self, node: Node) -> None:
        self._inside(node)
        name = node.child_by_field_name("name")
        if name is not None:
            self._scopes[-1][text(name)] = self._resolve(node.child_by_field_name("right"))

    def _pattern(self, node: Node) -> None:
        *kinds, name = children(node)
        self._scopes[-1][text(name)] = self._resolve(kinds[-1] if kinds else None)

    def _lambda(self, node: Node) -> None:
        parameters = node.child_by_field_name("parameters")
        plain = [parameters] if parameters is not None and parameters.type == "identifier" else children(parameters)
        names = [text(each) for each in plain if each.type == "identifier"]
        kinds = self._lambda_types(node, len(names))
        self._scoped(dict(zip(names, kinds, strict=False)), node)

    def _lambda_types(self, node: Node, count: int) -> Sequence[str]:
        """The types of the parameters of a lambda, from where it is used."""
        above = node.parent
        if above is None:
            return ()
        if above.type == "argument_list" and above.parent is not None:
            return self._argument_types(above.parent, children(above).index(node), count)
        if above.type == "variable_declarator" and above.parent is not None:
            return FUNCTIONAL.get(simple(above.parent.child_by_field_name("type")), ())
        if above.type == "cast_expression":
            return FUNCTIONAL.get(simple(above.child_by_field_name("type")), ())
        if above.type == "assignment_expression":
            return FUNCTIONAL.get(self.type_of(above.child_by_field_name("left")), ())
        return ()

    def _argument_types(self, call: Node, place: int, count: int) -> Sequence[str]:
        method = self._meant(call) if call.type == "method_invocation" else None
        if method is None:
            receiver = self.type_of(call.child_by_field_name("object"))
            over = receiver.endswith("<>") and text(call.child_by_field_name("name")) in _GOES_OVER
            return ("", receiver.removesuffix("<>"))[-count:] if over and count else ()
        if method.takes is not None:
            return FUNCTIONAL.get(method.takes[place], ()) if place < len(method.takes) else ()
        if method.name in _IN_TEMPLATES or method.name.startswith("browse"):
            return _IN_TEMPLATES.get(method.name, _IN_TEMPLATES["browse"])[:count]
        return ("Message",) if method.name.startswith("convert") else ("Session",)

    # ---- types

    def _resolve(self, kind: Node | None) -> str:
        if kind is not None and kind.type == "array_type":
            return f"{self._resolve(kind.child_by_field_name('element'))}[]"
        bounds = {name: bound for each in self._bounds for name, bound in each.items()}
        return "String" if simple(kind) == "String" else self._index.type_of(kind, self._unit.names, bounds)

    def type_of(self, node: Node | None) -> str:
        """The type of an expression, as far as it matters; empty if it is unknown."""
        if node is None:
            return ""
        if node.id not in self._types:
            self._types[node.id] = self._found_type(node)
        return self._types[node.id]

    def _found_type(self, node: Node) -> str:
        if node.type in _LITERALS:
            return _LITERALS[node.type]
        if node.type == "identifier":
            return self._variable(text(node))
        if node.type in {"parenthesized_expression", "assignment_expression", "ternary_expression"}:
            inner = [each for each in children(node) if each.type != "line_comment"]
            return next((kind for each in reversed(inner) if (kind := self.type_of(each))), "")
        if node.type in {"cast_expression", "object_creation_expression"}:
            return self._resolve(node.child_by_field_name("type"))
        if node.type == "field_access":
            return self._field(node)
        if node.type == "array_access":
            return self.type_of(node.child_by_field_name("array")).removesuffix("[]")
        if node.type == "this":
            return self._here()
        if node.type == "binary_expression":  # of which only the joining of texts matters
            sides = [self.type_of(node.child_by_field_name(side)) for side in ("left", "right")]
            return "String" if "String" in sides else ""
        if node.type == "method_invocation":
            method = self._meant(node)
            if method is None:
                return self._own_result(node) or self._element(node)
            return self._wanted(node) if method.takes and method.takes[0] == "Class" else method.returns
        return ""

    def _wanted(self, node: Node) -> str:
        """What ``getBody(String.class)`` returns."""
        first = children(node.child_by_field_name("arguments"))[0]
        return self._resolve(children(first)[0]) if first.type == "class_literal" else ""

    def _variable(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        for each in reversed(self._classes):
            if (found := self._field_of(f"project:{each.name}", name)) is not None:
                return found
        return ""

    def _field(self, node: Node) -> str:
        owner = node.child_by_field_name("object")
        kind = self.type_of(owner) if owner is not None and owner.type != "super" else self._here()
        return self._field_of(kind, text(node.child_by_field_name("field"))) or ""

    def _here(self) -> str:
        return f"project:{self._classes[-1].name}" if self._classes else ""

    def _field_of(self, kind: str, name: str) -> str | None:
        for each in self._index.lineage(kind, self._unit):
            if isinstance(each, JavaClass) and name in each.fields:
                return each.fields[name]
        return None

    def _receivers(self, node: Node) -> Iterator[str]:
        """The types on which the method may be: that of the receiver, or else the classes around the call."""
        receiver = node.child_by_field_name("object")
        if receiver is None or receiver.type == "super":
            yield from (f"project:{each.name}" for each in reversed(self._classes))
        else:
            yield self.type_of(receiver) or (self._resolve(receiver) if receiver.type == "identifier" else "")

    def _meant(self, node: Node) -> Method | None:
        """The method of the API that a call means; None if it is one of the project or unknown."""
        name = text(node.child_by_field_name("name"))
        given = [self.type_of(each) for each in children(node.child_by_field_name("arguments"))]
        for kind in self._receivers(node):
            for each in self._index.lineage(kind, self._unit):
                if isinstance(each, JavaClass):
                    if any(own.name == name and own.takes == len(given) for own in each.methods):
                        return None
                elif method := method_of(each, name, given):
                    return method
        return None

    def _own_result(self, node: Node) -> str:
        name = text(node.child_by_field_name("name"))
        takes = len(children(node.child_by_field_name("arguments")))
        for kind in self._receivers(node):
            for each in self._index.lineage(kind, self._unit):
                for own in each.methods if isinstance(each, JavaClass) else ():
                    if own.name == name and own.takes == takes:
                        return own.returns
        return ""

    def _element(self, node: Node) -> str:
        """What a method of a collection, an iterator, a stream or the like returns."""
        receiver = self.type_of(node.child_by_field_name("object"))
        if not receiver.endswith("<>") or text(node.child_by_field_name("name")) in _HAS_THE_SAME:
            return receiver if receiver.endswith("<>") else ""
        return receiver.removesuffix("<>")

    # ---- what is found

    def _call(self, node: Node) -> None:
        self._inside(node)
        method = self._meant(node)
        if method is None:
            return
        arguments = children(node.child_by_field_name("arguments"))
        given = [(each, self.type_of(each)) for each in arguments]
        name = node.child_by_field_name("name") or node
        self._add(name, method, needs(method, given, self._texts.of(arguments[0]) if arguments else None))
        if method.name in _SENDS and self._sender is not None:
            asks = method.name in ("sendAndReceive", "convertSendAndReceive")
            target = self._target(node, method, arguments)
            if target is not None and method.takes is None and self._sends_to_topics(node):
                target = f"topic:{target.removeprefix('topic:')}"
            self._sender.sends.append((line(name), target, "request" if asks else "send"))
        if method.name == "setMessageListener":
            self._listener(node.child_by_field_name("object"), line(name), arguments[0])

    def _sends_to_topics(self, node: Node) -> bool:
        receiver = text(node.child_by_field_name("object")).rpartition(".")[2]
        return receiver in self._topic_senders or self._texts.sends_to_topics

    def _listener(self, consumer: Node | None, number: int, listener: Node) -> None:
        """A listener that is written where it is set, or is an object of a class of the project."""
        known = consumed(consumer, self._target_of)
        if known is None:
            variable = self._known(consumer)
            known = (variable and variable.consumed) or Consumed(None, {})
        owner, method = self._classes[-1].name if self._classes else "", written_here(listener)
        if method:
            takes: list[tuple[str, str, str | None]] = [("message", "Message", None)]
            self.jobs.append(Job("listener", self._unit.path, number, owner, method, *known, takes=takes))
        else:
            self.listeners.append((self.type_of(listener).removeprefix("project:"), known))

    def _reference(self, node: Node) -> None:
        """``consumer::receive``: any method of that name."""
        parts = children(node)
        kind = (self.type_of(parts[0]) or self._resolve(parts[0])) if len(parts) == 2 else ""
        for each in self._index.lineage(kind, self._unit):
            if not isinstance(each, JavaClass) and (method := method_of(each, text(parts[-1]), None)):
                return self._add(parts[-1], method, ())
        return None

    def _add(self, node: Node, method: Method, features: tuple[str, ...]) -> None:
        self.findings.append(Finding(self._unit.path, line(node), "call", method.signature, method.shown, features))

    def _creation(self, node: Node) -> None:
        kind = self._resolve(node.child_by_field_name("type"))
        written = simple(node.child_by_field_name("type"))
        is_own = kind.startswith("project:")
        shown = "ConnectionFactory(target)" if is_factory(kind) and not is_own else _CREATED.get(kind)
        if shown is None and kind and not is_own and is_exception(kind):
            shown = f"{kind}(…)"
        if shown is not None:
            self.findings.append(Finding(self._unit.path, line(node), "class", f"new {written}(…)", shown))
        self._inside(node)

    # ---- destinations

    def _destination(self, node: Node | None) -> str | None:
        """The destination that an expression creates: ``createQueue("orders")``, or a client's own class for one."""
        if node is None:
            return None
        if (
            node.type == "method_invocation"
            and (prefix := _CREATES.get(text(node.child_by_field_name("name")))) is not None
        ):
            arguments = children(node.child_by_field_name("arguments"))
            name = self._text(arguments[0]) if len(arguments) == 1 else None
            return None if name is None else prefix + name
        if node.type == "object_creation_expression":
            arguments = children(node.child_by_field_name("arguments"))
            kind, name = self.type_of(node), self._text(arguments[0]) if len(arguments) == 1 else None
            return (
                None if name is None or kind not in ("Queue", "Topic") else ("topic:" if kind == "Topic" else "") + name
            )
        if node.type == "method_invocation" and text(node.child_by_field_name("name")) == "createProducer":
            return next(map(self._target_of, children(node.child_by_field_name("arguments"))), None)
        return None

    def _text(self, node: Node) -> str | None:
        known = self._known(node)
        return self._texts.of(node) if known is None else known.text

    def _known(self, node: Node | None) -> Meaning | None:
        """What a variable means; None if it is none, or one without a value."""
        name, scope = self._scope_of(node)
        return scope.get(name)

    def _scope_of(self, node: Node | None) -> tuple[str, dict[str, Meaning | None]]:
        """The name of a variable, and the scope that has it; an empty one if none has."""
        name = text(node).removeprefix("this.")
        scopes = self._meanings
        if node is not None and node.type == "field_access" and self._class_scopes:
            scopes = scopes[: self._class_scopes[-1] + 1]
        return name, next((scope for scope in reversed(scopes) if name in scope), {})

    def _target_of(self, node: Node) -> str | None:
        return self._destination(node) or self._text(node)

    def _target(self, node: Node, method: Method, arguments: list[Node]) -> str | None:
        """Where a send goes, if the sources say it: its first argument, or the destination of its producer."""
        wanted = method.takes is None or method.takes[0] in ("Destination", "Queue", "Topic")
        if method.name.startswith("convert") and len(arguments) == 2 and self._processes(arguments[1]):
            return None  # convertAndSend(payload, postProcessor)
        if wanted and len(arguments) > 1:
            return self._target_of(arguments[0])
        receiver = node.child_by_field_name("object")
        return None if receiver is None or wanted else self._target_of(receiver)

    def _processes(self, node: Node) -> bool:
        is_function = node.type in ("lambda_expression", "method_reference")
        return is_function or self.type_of(node) == "MessagePostProcessor"


_CREATED = {
    "JmsTemplate": "Template(target)",
    "JmsMessagingTemplate": "Template(target)",
    "QueueRequestor": "QueueRequestor(session, queue)",
    "TopicRequestor": "TopicRequestor(session, topic)",
    "DefaultJmsListenerContainerFactory": "App(target)",
    "SimpleJmsListenerContainerFactory": "App(target)",
    "DefaultMessageListenerContainer": "App(target)",
    "SimpleMessageListenerContainer": "App(target)",
    "Queue": "Queue(name)",
    "Topic": "Topic(name)",
}
