"""Writes Python for the listeners and senders that were found: a module for each Java class, to be filled in."""

import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from tree_sitter import Node

from jmsbridge.java_api import INTERFACES
from jmsbridge.migrate.findings import Job
from jmsbridge.migrate.index import JavaClass
from jmsbridge.migrate.project import Project
from jmsbridge.migrate.syntax import children, line_of_name, simple, text

__all__ = ["skeletons"]

_NUMBERS = ("int", "long", "short", "byte", "Integer", "Long", "Short", "Byte")
_TYPES = {
    "void": "None",
    "String": "str",
    "CharSequence": "str",
    "byte[]": "bytes",
    "boolean": "bool",
    "Boolean": "bool",
    **dict.fromkeys(("double", "float", "Double", "Float"), "float"),
    **dict.fromkeys(_NUMBERS, "int"),
}
_PRIMITIVES = ("boolean", "double", "float", "int", "long", "short", "byte")
_WHOLE = frozenset({"Session", *INTERFACES})
_IN_PROPERTIES = ("str", "int", "float", "bool")
_UNKNOWN = "DESTINATION"
_TAKEN = frozenset(
    {"app", "dataclass", "Annotated", "Any", "App", "Property", "Session", "Template", *INTERFACES, *_TYPES.values()}
)
"""Names that a module may need for itself."""


def skeletons(project: Project) -> dict[str, str]:
    """The modules by file name. Each compiles, passes mypy, and says in comments which Java line a part is from.

    A listener raises NotImplementedError until it is written, so its messages stay with the broker.
    """
    grouped: dict[tuple[str, str], list[Job]] = {}
    for job in project.jobs:
        grouped.setdefault((job.file, job.owner), []).append(job)
    found: dict[str, str] = {}
    for (file, owner), jobs in grouped.items():
        name = _python_name(owner or PurePosixPath(file).stem)
        if name in sys.stdlib_module_names or name in ("jmsbridge", "pydantic", "msgspec"):
            name += "_"  # in its folder it would hide the module of that name
        number = 1
        while f"{name}{'' if number == 1 else f'_{number}'}.py" in found:
            number += 1
        found[f"{name}{'' if number == 1 else f'_{number}'}.py"] = _Module(project, file, jobs).text()
    return found


class _Module:
    """One module while it is written: what it needs is known once its functions are."""

    def __init__(self, project: Project, file: str, jobs: list[Job]) -> None:
        self._project = project
        self._file = file
        self._unit = next((each.unit for (path, _), each in project.index.of_node.items() if path == file), None)
        self._jobs = sorted(jobs, key=lambda job: (job.line, job.kind))
        self._names = set(_TAKEN)
        self._imports: dict[str, set[str]] = {}
        self._classes: dict[str, str] = {}

    def text(self) -> str:
        functions = ["\n".join(self._function(job)) for job in self._jobs]
        listens = any(job.kind == "listener" for job in self._jobs)
        if listens:
            self._need("jmsbridge.app", "App")
        title = f'"""From {_one_line(self._file)}, by `jmsbridge migrate`: a start, to be filled in by hand."""'
        parts = ["\n".join([title, "", *self._written_imports()]), *self._classes.values()]
        if listens:
            made = self._app()
            parts = [*parts, made] if self._classes else [f"{parts[0]}\n\n{made}"]
        return "\n\n\n".join([*parts, *functions]) + "\n"

    def _app(self) -> str:
        ids = sorted({job.client_id for job in self._jobs if job.client_id})
        given, *others = [f"client_id={each!r}" for each in ids] or [""]
        also = "".join(f"; another app needs {each}" for each in others)
        return f"app = App({given})  # the target is in $JMSBRIDGE_URL{also}"

    def _written_imports(self) -> Iterator[str]:
        order = sorted(self._imports, key=lambda name: (name.startswith("jmsbridge"), name))
        for number, module in enumerate(order):
            if number and module.startswith("jmsbridge") and not order[number - 1].startswith("jmsbridge"):
                yield ""
            yield f"from {module} import {', '.join(sorted(self._imports[module]))}"

    def _need(self, module: str, name: str) -> str:
        self._imports.setdefault(module, set()).add(name)
        return name

    def _free(self, name: str) -> str:
        found, number = name, 1
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def _function(self, job: Job) -> Iterator[str]:
        yield from self._listener(job) if job.kind == "listener" else self._sender(job)

    # ---- listeners

    def _listener(self, job: Job) -> Iterator[str]:
        settings = "".join(f", {name}={value!r}" for name, value in job.settings.items())
        for remark in job.remarks:
            yield f"# {_one_line(remark)}: the sources do not say what that is"
        why = "" if job.destination else "  # the sources do not say which destination"
        yield f"@app.listener({job.destination or _UNKNOWN!r}{settings}){why}"
        taken: set[str] = set()
        has_body = False  # a further parameter without annotation gets the message
        parameters = []
        for name, kind, header in job.takes or [("message", "Message", None)]:
            called = _python_name(name)
            if called in taken:
                continue
            taken.add(called)
            annotation = self._parameter(kind, header)
            if header is None and annotation not in _WHOLE:
                annotation, has_body = self._need("jmsbridge", "Message") if has_body else annotation, True
            parameters.append(f"{called}: {annotation}")
        returns = self._type(job.returns) or self._need("typing", "Any")
        place = _place(job)
        yield f"def {self._free(_python_name(job.method))}({', '.join(parameters)}) -> {returns}:  # {place}"
        yield f"    raise NotImplementedError({place!r})"

    def _parameter(self, kind: str, header: str | None) -> str:
        if header is None:
            return self._type(kind) or self._need("jmsbridge", "Message")
        known = _TYPES.get(kind, "")
        value = known if known in _IN_PROPERTIES else self._need("typing", "Any")
        self._need("typing", "Annotated")
        self._need("jmsbridge.app", "Property")
        return f"Annotated[{value}, Property({header!r})]"

    def _type(self, java: str) -> str:
        """The Python type for a Java one; empty if there is none."""
        name = java.partition("<")[0].rpartition(".")[2]
        if java in _TYPES:
            return _TYPES[java]
        if name == "Map":
            return f"dict[str, {self._need('typing', 'Any')}]"
        if name == "Session" or (name.endswith("Message") and name in INTERFACES):
            return self._need("jmsbridge", name)
        return self._data(name)

    def _data(self, name: str) -> str:
        """The name of a dataclass for a class of the project; empty if it has nothing that JSON would carry."""
        if name in self._classes:
            return name
        index, unit = self._project.index, self._unit
        found = None if unit is None else index.project_class(f"project:{name}", unit)
        if unit is None or found is None:
            return ""
        family = [each for each in index.lineage(f"project:{name}", unit) if isinstance(each, JavaClass)]
        fields = list({field: kind for each in reversed(family) for field, kind in _fields(each)}.items())
        if not fields or not _fits(name) or not all(_fits(each) for each, _ in fields) or name in self._names:
            return ""
        self._names.add(name)
        self._need("dataclasses", "dataclass")
        lines = [f"    {each}: {self._field(kind)}" for each, kind in fields]
        values = [" = " in each for each in lines]
        mark = "@dataclass" if values == sorted(values) else "@dataclass(kw_only=True)"
        where = f"{_one_line(found.unit.path)}:{line_of_name(found.node)}"
        self._classes[name] = "\n".join([mark, f"class {name}:  # {where}", *lines])
        return name

    def _field(self, java: str) -> str:
        """The type of a field, and its value if JSON has none: Java then reads null, and may leave null out."""
        if java in _PRIMITIVES:
            return _TYPES[java]
        return f"{_TYPES[java]} | None = None" if java in _TYPES else f"{self._need('typing', 'Any')} = None"

    # ---- senders

    def _sender(self, job: Job) -> Iterator[str]:
        self._need("jmsbridge", "Template")
        self._need("typing", "Any")
        unknown = any(destination is None for _, destination, _ in job.sends)
        values = [f"value{'' if number == 1 else f'_{number}'}" for number in range(1, len(job.sends) + 1)]
        parameters = ["template: Template", *(["destination: str"] if unknown else []), *(f"{v}: Any" for v in values)]
        called = _python_name(job.method)
        name = self._free(f"{called}_sends" if called in self._names else called)
        yield f"def {name}({', '.join(parameters)}) -> None:  # {_place(job)}"
        for value, (line, destination, kind) in zip(values, job.sends, strict=True):
            target = "destination" if destination is None else repr(destination)
            more = ", timeout=30" if kind == "request" else ""
            yield f"    template.{kind}({target}, {value}{more})  # {_one_line(job.file)}:{line}"


def _fields(found: JavaClass) -> Iterator[tuple[str, str]]:
    """The fields of an object with their Java types; those of the class itself are left out."""
    for each in children(found.node.child_by_field_name("parameters"), "formal_parameter"):
        yield text(each.child_by_field_name("name")), _written(each)
    for each in children(found.node.child_by_field_name("body"), "field_declaration"):
        modifiers = {part.type for holder in children(each, "modifiers") for part in holder.children}
        if not modifiers & {"static", "transient"}:
            for name in children(each, "variable_declarator"):
                yield text(name.child_by_field_name("name")), _written(each)


def _written(node: Node) -> str:
    kind = node.child_by_field_name("type")
    return text(kind) if kind is not None and kind.type == "array_type" else simple(kind)


def _fits(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__") and name not in _TAKEN


def _python_name(java: str) -> str:
    """``onOrder`` as ``on_order``; what is no name in Python becomes one."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", java).lower().replace("$", "_")
    if not snake.isidentifier():
        return "unnamed"
    return f"{snake}_" if keyword.iskeyword(snake) else snake


def _place(job: Job) -> str:
    return f"{_one_line(job.file)}:{job.line}"


def _one_line(path: str) -> str:
    """A path that can stand in a comment or a docstring."""
    return "".join(each if each.isprintable() and each not in '"\\' else "?" for each in path)
