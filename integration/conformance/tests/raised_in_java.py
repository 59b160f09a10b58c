"""Raises exceptions through Java calls, in a process with a Java VM: writes what Java got, as JSON, to a file."""

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

import jpype

import jmsbridge
from integration.conformance import machine, texts
from integration.conformance.faces import Faces
from integration.conformance.jars import classpath
from integration.conformance.unexpected import UNEXPECTED, watch
from jmsbridge.errors import NullValueError, NumberFormatError, UnsupportedOperationError


class Raising(jmsbridge.TextMessage):
    """A message whose body cannot be read."""

    error: BaseException

    @property  # type: ignore[misc]
    def text(self) -> str | None:
        raise self.error


def linked() -> jmsbridge.JMSException:
    error = jmsbridge.JMSException("reason", "CODE")
    error.linked_exception = ValueError("linked")
    error.__cause__ = jmsbridge.MessageFormatException("middle")
    error.__cause__.__cause__ = OSError("deep")
    return error


CASES: dict[str, BaseException] = {
    "linked": linked(),
    "in doubt": jmsbridge.InDoubtException("who knows"),
    "refused": jmsbridge.UnsupportedFeatureException("no"),
    "configuration": jmsbridge.ConfigurationError("no such option"),
    "unchecked": jmsbridge.IllegalStateRuntimeException("closed", "U"),
    "twin": jmsbridge.unchecked(jmsbridge.InvalidSelectorException("a =")),
    "number": NumberFormatError("x"),
    "null": NullValueError("nothing"),
    "form": UnsupportedOperationError("form"),
    "index": IndexError("too far"),
    "argument": ValueError("bad"),
    "odd text": jmsbridge.JMSException("😀 \ud800"),
    "key": KeyError("mine"),
    "encoding": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "mine"),
}


def shown(error: Any, depth: int = 0) -> dict[str, Any] | None:
    """A Java exception with its causes, as JSON."""
    if error is None or depth > 5:
        return None
    kind = str(error.getClass().getName())
    code = error.getErrorCode() if kind.startswith("jakarta.") else None
    below = error.getLinkedException() if hasattr(error, "getLinkedException") else None
    return {
        "class": kind,
        "message": texts.to_python(error.getMessage()),
        "code": None if code is None else str(code),
        "cause": shown(error.getCause(), depth + 1),
        "linked": shown(below, depth + 1),
    }


def told(faces: Faces, kind: str, *before: Any) -> dict[str, Any]:
    """The exceptions that a Java listener of that kind gets for some errors."""
    names, given = ("linked", "unchecked", "argument"), []
    members = {"onException": lambda *arguments: given.append(shown(arguments[-1]))}
    java = jpype.JObject(jpype.JProxy(f"jakarta.jms.{kind}", dict=members), jpype.JClass(f"jakarta.jms.{kind}"))
    listener = faces.converter(kind).to_python(java)
    for name in names:
        listener.on_exception(*before, CASES[name])
    return dict(zip(names, given, strict=True))


def main() -> None:
    machine.start(classpath())
    watch()
    faces = Faces("jakarta.jms")
    found: dict[str, Any] = {}
    message = Raising()
    java = jpype.JObject(faces.of(message), jpype.JClass("jakarta.jms.TextMessage"))
    for name, error in CASES.items():
        message.error = error
        try:
            java.getText()
        except jpype.JException as seen:
            found[name] = shown(seen)
    found["listened"] = told(faces, "ExceptionListener")
    found["completed"] = told(faces, "CompletionListener", message)
    thread = threading.Thread(target=CASES.pop, args=("thread",))
    thread.start()
    thread.join()
    logging.getLogger("jmsbridge").error("not an error of Python")
    found["unexpected"] = UNEXPECTED
    queue = jmsbridge.Queue("q")
    found["same"] = [
        faces.of(queue).equals(faces.of(queue)),
        faces.of(queue).equals(faces.of(jmsbridge.Queue("q"))),
        not faces.of(queue).equals(faces.of(jmsbridge.Topic("q"))),
        faces.target(faces.of(queue)) is queue,
        faces.of(queue).hashCode() == faces.of(jmsbridge.Queue("q")).hashCode(),
    ]
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)


if __name__ == "__main__":
    main()
