"""The Java virtual machine inside this process."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jpype

__all__ = ["implements", "override", "proxy", "start"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def start(classpath: Sequence[Path]) -> None:
    """Start it, once per process; the class path is that of the system class loader.

    Ctrl-C ends the process as in Java; only the quick compiler is used, because no program here runs for long.
    """
    jpype.startJVM(
        "-Xmx512m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        classpath=[str(each) for each in classpath],
        convertStrings=False,
    )


def implements(interface: str) -> Callable[[C], C]:
    """A decorator for a class whose objects implement a Java interface."""
    made: Callable[[C], C] = jpype.JImplements(interface, deferred=True)
    return made


def override(method: F) -> F:
    """A decorator for a method of such a class that the interface declares."""
    made: F = jpype.JOverride(method)
    return made


def proxy(interface: str, handler: Any) -> Any:
    """A Java object of that interface, whose calls go to an ``InvocationHandler`` with the exact method."""
    kind = jpype.JClass(interface).class_
    loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
    kinds = jpype.JArray(jpype.JClass("java.lang.Class"))([kind])
    return jpype.JClass("java.lang.reflect.Proxy").newProxyInstance(loader, kinds, handler)
