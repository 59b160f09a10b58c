"""Compares the table with the API: ``python -m integration.conformance.reflection FILE`` writes differences as JSON."""

import json
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import jpype

from integration.conformance import machine
from integration.conformance.faces import Faces, signature
from integration.conformance.jars import classpath
from integration.conformance.run import listed
from jmsbridge.java_api import INTERFACES, LEFT_OUT, PARENTS

__all__ = ["compare", "main"]

_CALLED = {"CompletionListener", "ExceptionListener", "MessageListener"}


def compare(api: str, jars: list[Path]) -> dict[str, Any]:
    """Methods without a line, lines without a method or with another type, and missing interfaces."""
    faces = Faces(api)
    found: dict[str, Any] = {"missing": [], "wrong": [], "left out": [], "methods": 0}
    seen = set()
    for name in sorted(_classes(api, jars)):
        kind = jpype.JClass(f"{api}.{name}").class_
        if not kind.isInterface() or kind.isAnnotation():
            continue
        seen.add(name)
        methods = {signature(method): method for method in kind.getMethods()}
        if name in LEFT_OUT:
            if methods and name not in _CALLED:
                found["left out"].append(name)
            continue
        extended = {str(each.getSimpleName()) for each in kind.getInterfaces()} & INTERFACES.keys()
        if extended != set(PARENTS.get(name, ())):
            found["wrong"].append(f"{name}: extends {sorted(extended)}")
        lines = faces.table(kind)
        found["methods"] += len(methods)
        found["missing"] += [f"{name}.{each}" for each in methods if each not in lines]
        found["wrong"] += [f"{name}.{each}: no such method" for each in lines if each not in methods]
        for each in methods.keys() & lines.keys():
            returns, converter = str(methods[each].getReturnType().getTypeName()), lines[each].returns
            if faces.converter(converter).java != returns:
                found["wrong"].append(f"{name}.{each}: returns {returns}, not {converter}")
    found["wrong"] += [f"{name}: no such interface" for name in INTERFACES if name not in seen]
    return found


def _classes(api: str, jars: list[Path]) -> set[str]:
    entry = re.compile(api.replace(".", "/") + r"/(\w+)\.class")
    names: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            names |= {match[1] for name in archive.namelist() if (match := entry.fullmatch(name))}
    return names


def _joram(jars: list[Path]) -> list[str]:
    jar = next(jar for jar in jars if jar.name.startswith("joram-jms-tests"))
    with zipfile.ZipFile(jar) as archive:
        classes = [name for name in archive.namelist() if "/conform/" in name and name.endswith("Test.class")]
    return list(listed([name.removesuffix(".class").replace("/", ".") for name in sorted(classes)]))


def main() -> None:
    """Write the differences for both APIs."""
    jars = classpath()
    machine.start(jars)
    found: dict[str, Any] = {api: compare(api, jars) for api in ("javax.jms", "jakarta.jms")}
    found["joram"] = _joram(jars)
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)


if __name__ == "__main__":
    main()
