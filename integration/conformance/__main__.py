"""Runs a Java program on jmsbridge: ``python -m integration.conformance Program.java argument …``.

The program finds its factories by JNDI: ``new InitialContext().lookup("ConnectionFactory")``; there are
QueueConnectionFactory, TopicConnectionFactory, ``queue/NAME`` and ``topic/NAME`` as well.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import jpype
import typer

from integration.conformance import machine
from integration.conformance.errors import UNEXPECTED
from integration.conformance.faces import Faces
from integration.conformance.jars import Unavailable, classpath, compiled
from integration.conformance.naming import install

__all__ = ["main", "run"]

_FAILED, _BROKEN = 1, 70


def run(
    program: Annotated[str, typer.Argument(help="a Java file with a main method, or the full name of a class")],
    arguments: Annotated[list[str] | None, typer.Argument(help="for the program")] = None,
    url: Annotated[str | None, typer.Option(help="the broker; else $JMSBRIDGE_URL says it")] = None,
    api: Annotated[str, typer.Option(help="jakarta.jms or javax.jms")] = "jakarta.jms",
    source: Annotated[list[Path] | None, typer.Option(help="a further Java file to compile")] = None,
    path: Annotated[list[Path] | None, typer.Option(help="a jar or folder for the class path")] = None,
) -> None:
    """Run a Java program on jmsbridge.

    Ends with the program's status, 1 for an exception that it does not catch, 70 where jmsbridge or its Java face had
    an unexpected error.
    """
    sources = [*(source or []), *([Path(program)] if program.endswith(".java") else [])]
    try:
        places = [*(path or []), *([compiled(sources, api)] if sources else []), *classpath()]
    except (Unavailable, ValueError) as error:
        raise typer.Exit(_say(str(error))) from error
    machine.start(places)
    faces = Faces(api)
    install(faces, url)
    _at_exit()
    failed = False
    try:
        kind = jpype.JClass(program if not program.endswith(".java") else Path(program).stem)
        kind.main([jpype.JString(each) for each in arguments or ()])
    except jpype.JException as error:
        failed = True
        _say(str(error.stacktrace()))
    _wait_for_threads()
    faces.close()
    jpype.JClass("java.lang.System").exit(_FAILED if failed else 0)


def _wait_for_threads() -> None:
    """A Java program ends when its last thread does, but for daemons."""
    thread = jpype.JClass("java.lang.Thread")
    here = thread.currentThread()
    while True:
        others = [each for each in thread.getAllStackTraces().keySet() if not each.isDaemon() and not each.equals(here)]
        if not others:
            return
        others[0].join()


def _at_exit() -> None:
    """A program may end by System.exit: what must be looked at then is in a hook of Java's."""

    def look() -> None:
        if UNEXPECTED:
            _say(f"{len(UNEXPECTED)} unexpected errors below Java calls: see above")
            sys.stderr.flush()
            jpype.JClass("java.lang.Runtime").getRuntime().halt(_BROKEN)

    thread: Any = jpype.JClass("java.lang.Thread")(jpype.JProxy("java.lang.Runnable", dict={"run": look}))
    jpype.JClass("java.lang.Runtime").getRuntime().addShutdownHook(thread)


def _say(text: str) -> int:
    print(text, file=sys.stderr, flush=True)
    return _FAILED


def main() -> None:
    """The command."""
    app = typer.Typer(add_completion=False)
    app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})(run)
    app(prog_name=f"{Path(sys.executable).name} -m integration.conformance")


if __name__ == "__main__":
    main()
    os._exit(0)
