"""The Java virtual machine inside this process."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jpype

__all__ = ["implements", "override", "proxy", "start"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def start(classpath: Sequence[Path]) -> None:
    """Start it, once per process; what is on the class path is on the system class loader's.

    Ctrl-C ends the process as it does in Java; the compiler is the quick one, as no program here runs for long.
    """
    jpype.startJVM(
        "-Xmx512m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        classpath=[str(each) for each in classpath],
        convertStrings=False,
    )


def implements(interface: str) -> Callable[[C], C]:
    """A class whose objects Java takes for objects of that interface."""
    made: Callable[[C], C] = jpype.JImplements(interface, deferred=True)
    return made


def override(method: F) -> F:
    """A method of such a class that the interface has."""
    made: F = jpype.JOverride(method)
    return made


def proxy(interface: str, handler: Any) -> Any:
    """A Java object of that interface, whose calls an ``InvocationHandler`` takes: it is told the exact method."""
    kind = jpype.JClass(interface).class_
    loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
    kinds = jpype.JArray(jpype.JClass("java.lang.Class"))([kind])
    return jpype.JClass("java.lang.reflect.Proxy").newProxyInstance(loader, kinds, handler)
