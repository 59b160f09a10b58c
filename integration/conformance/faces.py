"""Java objects in front of Python objects: a proxy for each, whose every call follows the table."""

import threading
import traceback
import weakref
from typing import Any

import jpype

from integration.conformance import machine, texts, threads
from integration.conformance.errors import Errors
from integration.conformance.foreign import Foreign
from integration.conformance.listeners import Listeners
from integration.conformance.rows import action
from integration.conformance.sequences import Sequences
from integration.conformance.values import Converter, Values
from jmsbridge import Connection, JMSContext
from jmsbridge.java_api import INTERFACES, Row, rows

__all__ = ["Faces", "Handler", "signature"]


class _Bound:
    """One Java method of one interface, ready to be called."""

    def __init__(self, faces: "Faces", row: Row, checked: bool) -> None:
        self._takes = [faces.converter(name).to_python for name in row.takes]
        self._returns = None if row.returns == "self" else faces.converter(row.returns).to_java
        self._action = action(row, faces)
        self.checked = checked

    def call(self, proxy: Any, target: Any, arguments: Any) -> Any:
        values = [convert(value) for convert, value in zip(self._takes, arguments or (), strict=True)]
        result = self._action(target, *values)
        return proxy if self._returns is None else self._returns(result)


@machine.implements("java.lang.reflect.InvocationHandler")
class Handler:
    """Receives the calls of one Java object, and forwards them to one Python object."""

    def __init__(self, faces: "Faces", target: Any, methods: dict[Any, _Bound]) -> None:
        self.faces = faces
        self.target = target
        self.methods = methods
        self.proxy: Any = None  # a weak reference of Java: the object lives as long as Java references it

    @machine.override
    def invoke(self, proxy: Any, method: Any, arguments: Any) -> Any:
        """Forward one call. Python's exceptions are converted to Java's here, also those of conversions."""
        threads.release()
        bound = self.methods.get(method)
        try:
            if bound is None:
                return self._object_method(str(method.getName()), proxy, arguments)
            return bound.call(proxy, self.target, arguments)
        except BaseException as error:
            raise self.faces.errors.to_java(error, checked=bound is not None and bound.checked) from error

    def _object_method(self, name: str, proxy: Any, arguments: Any) -> Any:
        if name == "equals":
            other = self.faces.handler(arguments[0])
            return jpype.JBoolean(other is not None and bool(other.target == self.target))
        if name == "hashCode":
            return jpype.JInt((hash(self.target) + (1 << 31)) % (1 << 32) - (1 << 31))
        if name == "toString":
            return texts.to_java(str(self.target))
        raise NotImplementedError(f"{name} of {proxy.getClass().getName()}")


class Faces:
    """The Java face of jmsbridge in one API: ``javax.jms`` or ``jakarta.jms``.

    ``of`` returns the Java object of a Python one, always the same while Java references it; ``target`` is the inverse.
    """

    def __init__(self, api: str) -> None:
        threads.prepare()
        self.api = api
        self.errors = Errors(api)
        self.values = Values()
        self._proxy = jpype.JClass("java.lang.reflect.Proxy")
        self._weak = jpype.JClass("java.lang.ref.WeakReference")
        self._kinds: dict[type, tuple[str, dict[Any, _Bound]]] = {}
        self._handlers: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()  # guards _handlers: two threads may request the same object
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        self._converters = self._own_converters() | self.values.converters

    def _own_converters(self) -> dict[str, Converter]:
        made = {name: Converter(f"{self.api}.{name}", self.target, self.of) for name in INTERFACES}
        made["Destination"] = Converter(f"{self.api}.Destination", self.target, self.of)
        for name in ("ConnectionConsumer", "ServerSessionPool"):
            made[name] = Converter(f"{self.api}.{name}", _untouched, self.of)
        foreign = Foreign(self)
        for name in ("Message", *(name for name in INTERFACES if name.endswith("Message"))):
            made[name] = Converter(f"{self.api}.{name}", foreign.to_python, foreign.to_java)
        listeners = Listeners(self)
        for name, adapt in listeners.kinds.items():
            made[name] = Converter(f"{self.api}.{name}", adapt, listeners.to_java)
        sequences = Sequences(self)
        made["Messages"] = Converter("java.util.Enumeration", _untouched, sequences.enumeration)
        made["NameSet"] = Converter("java.util.Set", _untouched, sequences.names)
        made["self"] = Converter(f"{self.api}.JMSProducer", _untouched, _untouched)
        return made

    def converter(self, name: str) -> Converter:
        """The converter of that name in the table."""
        return self._converters[name]

    # ---- objects

    def of(self, value: Any) -> Any:
        """The Java object for a Python object of the facade; None for None."""
        if value is None:
            return None
        with self._lock:
            handler = self._handlers.get(id(value))
            proxy = handler.proxy.get() if handler is not None else None
            if proxy is not None:
                return proxy
            interface, methods = self._kind(type(value))
            handler = Handler(self, value, methods)
            proxy = machine.proxy(interface, handler)
            handler.proxy = self._weak(proxy)
            self._handlers[id(value)] = handler
        if isinstance(value, Connection | JMSContext):
            self._opened.add(value)
        return proxy

    def handler(self, java: Any) -> Any:
        """The handler of a Java object of this face; None for anything else."""
        if java is None or not self._proxy.isProxyClass(java.getClass()):
            return None
        found = self._proxy.getInvocationHandler(java)
        return found if isinstance(found, Handler) else None

    def target(self, java: Any) -> Any:
        """The Python object behind a Java object of this face; anything else unchanged."""
        found = self.handler(java)
        return java if found is None else found.target

    def _kind(self, kind: type) -> tuple[str, dict[Any, _Bound]]:
        known = self._kinds.get(kind)
        if known is None:
            name = next((base.__name__ for base in kind.__mro__ if base.__name__ in INTERFACES), None)
            if name is None:
                raise TypeError(f"a {kind.__name__} has no Java interface")
            interface = f"{self.api}.{name}"
            known = self._kinds[kind] = interface, self._bind(jpype.JClass(interface).class_)
        return known

    def _bind(self, interface: Any) -> dict[Any, _Bound]:
        found = self.table(interface)
        bound: dict[Any, _Bound] = {}
        for method in interface.getMethods():
            row = found.get(signature(method))
            if row is not None:
                bound[method] = _Bound(self, row, bool(len(method.getExceptionTypes())))
        return bound

    def table(self, interface: Any) -> dict[str, Row]:
        """The lines of an interface and its bases, by the signatures of the Java methods."""
        found: dict[str, Row] = {}
        for parent in interface.getInterfaces():
            found |= self.table(parent)
        name = str(interface.getSimpleName())
        if name in INTERFACES and str(interface.getPackageName()) == self.api:
            for row in rows(name):
                found[f"{row.java}({','.join(self.converter(each).java for each in row.takes)})"] = row
        return found

    def close(self, patience: float = 10.0) -> list[str]:
        """Close every open connection, and wait for all threads; return the problems.

        A listener that does not return blocks the close of its connection, but not this.
        """
        problems: list[str] = []
        closing = threading.Thread(target=self._close_all, args=(problems,), name="closing", daemon=True)
        closing.start()
        closing.join(patience)
        if closing.is_alive():
            problems.append(f"a connection did not close in {patience:.0f} s")
        return problems + [f"the thread {name} did not end" for name in threads.wait_ended(patience=patience)]

    def _close_all(self, problems: list[str]) -> None:
        for each in list(self._opened):
            try:
                each.close()
            except Exception:
                problems.append(traceback.format_exc())


def signature(method: Any) -> str:
    """A Java method in the form of the keys of ``Faces.table``."""
    return f"{method.getName()}({','.join(str(each.getTypeName()) for each in method.getParameterTypes())})"


def _untouched(value: Any) -> Any:
    return value
