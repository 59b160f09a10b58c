"""Runs a Java program on jmsbridge: ``python -m integration.conformance Program.java argument …``.

The program finds its factories by JNDI: ``new InitialContext().lookup("ConnectionFactory")``; there are
QueueConnectionFactory, TopicConnectionFactory, ``queue/NAME`` and ``topic/NAME`` as well.
"""

import os
import re
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any

import jpype
import typer

from integration.conformance import machine
from integration.conformance.faces import Faces
from integration.conformance.jars import HERE, classpath, compiled
from integration.conformance.naming import install
from integration.conformance.unexpected import UNEXPECTED, watch
from integration.lab.errors import BrokerError

__all__ = ["main", "run"]

_BROKEN = 70


def run(
    program: Annotated[str, typer.Argument(help="a Java file with a main method, or the full name of a class")],
    arguments: Annotated[list[str] | None, typer.Argument(help="for the program")] = None,
    url: Annotated[str | None, typer.Option(help="the broker; default: $JMSBRIDGE_URL")] = None,
    api: Annotated[str, typer.Option(help="jakarta.jms or javax.jms")] = "jakarta.jms",
    source: Annotated[list[Path] | None, typer.Option(help="a further Java file to compile")] = None,
    path: Annotated[list[Path] | None, typer.Option(help="a jar or folder for the class path")] = None,
) -> None:
    """Run a Java program on jmsbridge.

    Ends with the program's status, 1 for an uncaught exception, 70 if jmsbridge or its Java face had
    an unexpected error.
    """
    sources = [*(source or []), *([Path(program)] if program.endswith(".java") else [])]
    try:
        compiled_in = compiled([HERE / "java" / "Launch.java", *sources], api)
        machine.start([*(path or []), compiled_in, *classpath()])
        faces = Faces(api)
        install(faces, url)
        launch, ended = _launch(_class_of(program), arguments or [])
    except (BrokerError, ValueError, OSError) as error:
        raise typer.Exit(_say(str(error))) from error
    watch()
    _at_exit()
    launch.start()
    status = ended.get()
    for problem in faces.close():
        _say(problem)
    jpype.JClass("java.lang.System").exit(status)


def _class_of(program: str) -> str:
    """The full name of the class to run."""
    if not program.endswith(".java"):
        return program
    package = re.search(r"^\s*package\s+([\w.]+)\s*;", Path(program).read_text(encoding="utf-8"), re.MULTILINE)
    return ".".join([*(package.groups() if package else ()), Path(program).stem])


def _launch(program: str, arguments: list[str]) -> tuple[Any, SimpleQueue[int]]:
    """The thread for the program, and the place of its status; ValueError if there is no such program."""
    ended: SimpleQueue[int] = SimpleQueue()
    consumer = jpype.JProxy("java.util.function.IntConsumer", dict={"accept": lambda status: ended.put(int(status))})
    texts = jpype.JArray(jpype.JString)(arguments)
    try:
        return jpype.JClass("jmsbridge.Launch")(program, texts, consumer), ended
    except jpype.JClass("java.lang.ReflectiveOperationException") as error:
        raise ValueError(f"there is no program {program}: {error}") from error


def _at_exit() -> None:
    """A program may end by System.exit, so the check for unexpected errors is also a shutdown hook."""

    def look() -> None:
        if UNEXPECTED:
            _say(f"{len(UNEXPECTED)} unexpected Python errors: see above")
            sys.stderr.flush()
            jpype.JClass("java.lang.Runtime").getRuntime().halt(_BROKEN)

    thread: Any = jpype.JClass("java.lang.Thread")(jpype.JProxy("java.lang.Runnable", dict={"run": look}))
    jpype.JClass("java.lang.Runtime").getRuntime().addShutdownHook(thread)


def _say(text: str) -> int:
    print(text, file=sys.stderr, flush=True)
    return 1


def main() -> None:
    """The command."""
    app = typer.Typer(add_completion=False)
    app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})(run)
    app(prog_name=f"{Path(sys.executable).name} -m integration.conformance")


if __name__ == "__main__":
    main()
    os._exit(0)
