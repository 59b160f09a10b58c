"""The administrator for Joram's tests: factories, and new destinations for each test."""

import itertools
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import jpype

from integration.conformance import machine
from integration.conformance.errors import Errors
from integration.conformance.naming import FACTORIES, Naming
from jmsbridge import Queue, Topic, UnsupportedFeature, connect
from jmsbridge.spi import NotSupported

__all__ = ["Administrator"]

_numbers = itertools.count(1)


@machine.implements("java.lang.reflect.InvocationHandler")
class Administrator:
    """Takes the calls of ``PythonAdmin``.

    A destination has a unique name on the broker, so that no test sees messages of another; it is removed with the
    test, if the backend can.
    """

    def __init__(self, faces: Any, url: str | None) -> None:
        self._url = url
        self._naming = Naming(faces)
        self._errors: Errors = faces.errors
        self._connection = connect(url)
        self._calls: dict[str, Callable[..., Any]] = {
            "getName": lambda: jpype.JString("jmsbridge"),
            "createContext": self._naming.context,
            "createQueue": partial(self._create, Queue),
            "createTopic": partial(self._create, Topic),
            "deleteQueue": self._delete,
            "deleteTopic": self._delete,
        }
        for name, kind in FACTORIES.items():
            self._calls[f"create{name}"] = partial(self._factory, kind)
            self._calls[f"delete{name}"] = self._forget
        for name in ("startServer", "stopServer", "start", "stop"):
            self._calls[name] = _nothing

    @machine.override
    def invoke(self, proxy: Any, method: Any, arguments: Any) -> Any:
        """One call of Joram's Admin."""
        try:
            return self._calls[str(method.getName())](*map(str, arguments or ()))
        except BaseException as error:
            raise self._errors.to_java(error, checked=False) from error

    def proxy(self) -> Any:
        """The Java object for ``PythonAdmin.delegate``."""
        return machine.proxy("org.objectweb.jtests.jms.admin.Admin", self)

    def close(self) -> None:
        """End the administrator's own connection."""
        self._connection.close()

    def _factory(self, kind: type, name: str) -> None:
        self._naming.names[name] = kind(self._url)

    def _forget(self, name: str) -> Any:
        return self._naming.names.pop(name, None) and None

    def _create(self, kind: type[Queue] | type[Topic], name: str) -> None:
        made = self._naming.names[name] = kind(f"joram.{name}.{os.getpid()}.{next(_numbers)}")
        self._with_broker("create", made)

    def _delete(self, name: str) -> None:
        made = self._naming.names.pop(name, None)
        if made is not None:
            self._with_broker("remove", made)

    def _with_broker(self, verb: str, destination: Any) -> None:
        try:
            getattr(self._connection.admin, verb)(destination.address)
        except (UnsupportedFeature, NotSupported):
            return  # such a broker creates destinations when they are used, or its topics are only names


def _nothing() -> None:
    """The broker runs as long as the tests."""
