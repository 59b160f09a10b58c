"""Runs Java tests against jmsbridge in a separate process: ``python -m integration.conformance.run``.

Writes a line of JSON for each test, and a last one for the run. Ends with a hard exit, so that threads that a test left
behind cannot block it.
"""

import faulthandler
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import jpype
import typer

from integration.conformance import machine
from integration.conformance.admin import Administrator
from integration.conformance.faces import Faces
from integration.conformance.jars import HERE, classpath, compiled
from integration.conformance.naming import install
from integration.conformance.unexpected import UNEXPECTED, watch

__all__ = ["listed", "main", "run"]

_PATIENCE = 60.0  # seconds after which a test is given up
_CLOSING = 10.0  # seconds for closing what tests left open
_RECEIVE = 5000  # milliseconds that Joram waits for a message that should come, and for one that should not


class _Test:
    """One test on a separate thread, so that it can be given up."""

    def __init__(self, name: str) -> None:
        self._class, _, self._method = name.rpartition(".")
        self._name = name
        self._trace: str | None = None
        self._java: Any = None

    def run(self, patience: float) -> dict[str, Any]:
        """Run it; return its result as a record."""
        before, begun = len(UNEXPECTED), time.monotonic()
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        thread.start()
        thread.join(patience)
        trace = self._trace
        if thread.is_alive():
            where = "".join(f"\n    at {frame}" for frame in self._java.getStackTrace()) if self._java else ""
            trace = f"hung for {patience:.0f} s, then given up{where}"
        trace = "\n".join(([trace] if trace else []) + UNEXPECTED[before:])
        return {"test": self._name, "trace": trace, "seconds": round(time.monotonic() - begun, 3)}

    def _run(self) -> None:
        thread = jpype.JClass("java.lang.Thread")
        self._java = thread.currentThread()
        try:
            self._trace = _junit(self._class, self._method)
        except jpype.JException as error:
            self._trace = error.stacktrace()
        finally:
            self._java = None
            thread.detach()


def _junit(class_name: str, method: str) -> str | None:
    kind = jpype.JClass(class_name).class_
    request = jpype.JClass("org.junit.runner.Request").method(kind, method)
    result = jpype.JClass("org.junit.runner.JUnitCore")().run(request)
    failures = [str(failure.getTrace()) for failure in result.getFailures()]
    if result.getRunCount() == 0 and not failures:
        failures = ["there is no such test"]
    return "\n".join(failures) or None


def listed(names: list[str]) -> Iterator[str]:
    """The tests of these classes that JUnit finds."""
    for name in names:
        request = jpype.JClass("org.junit.runner.Request").aClass(jpype.JClass(name).class_)
        for each in request.getRunner().getDescription().getChildren():
            yield f"{name}.{each.getMethodName()}"


def _prepare(folder: Path, api: str, sources: list[Path]) -> None:
    """Start Java with the files that Joram needs on the class path."""
    (folder / "provider.properties").write_text("jms.provider.admin.class=PythonAdmin\n", encoding="utf-8")
    (folder / "test.properties").write_text(f"timeout={_RECEIVE}\n", encoding="utf-8")
    machine.start([folder, compiled(sources, api), *classpath()])


def run(
    tests: Annotated[list[str], typer.Argument(help="package.Class.method, or with --list package.Class")],
    url: Annotated[str | None, typer.Option(help="the broker; default: $JMSBRIDGE_URL")] = None,
    api: Annotated[str, typer.Option(help="javax.jms or jakarta.jms")] = "javax.jms",
    source: Annotated[list[Path] | None, typer.Option(help="a Java file to compile for the tests")] = None,
    results: Annotated[Path | None, typer.Option(help="the file to write; default: standard output")] = None,
    patience: Annotated[float, typer.Option(help="seconds after which a test is given up")] = _PATIENCE,
    names: Annotated[
        bool, typer.Option("--list", help="list the tests of these classes instead of running them")
    ] = False,
) -> None:
    """Run Java tests against jmsbridge; one line of JSON for each."""
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        _prepare(Path(folder), api, [HERE / "java" / "PythonAdmin.java", *(source or [])])
        with results.open("w", encoding="utf-8") if results else nullcontext(sys.stdout) as out:
            if names:
                print(*listed(tests), sep="\n", file=out, flush=True)
            else:
                _run(tests, api, url, patience, out)
    os._exit(0)


def _run(tests: list[str], api: str, url: str | None, patience: float, out: TextIO) -> None:
    watch()
    faces = Faces(api)
    install(faces, url)
    administrator = Administrator(faces, url)
    jpype.JClass("PythonAdmin").delegate = administrator.proxy()
    jpype.JClass("org.objectweb.jtests.jms.framework.JMSTestCase").startServer = False
    for name in tests:
        print(json.dumps(_Test(name).run(patience)), file=out, flush=True)
    administrator.close()
    problems = faces.close(min(patience, _CLOSING)) + UNEXPECTED
    print(json.dumps({"test": "the end", "trace": "\n".join(problems), "seconds": 0.0}), file=out, flush=True)


def main() -> None:
    """The command."""
    typer.run(run)


if __name__ == "__main__":
    main()
