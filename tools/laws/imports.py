"""The import law: what backends may import, and who must not import them."""

import re
import sys
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["CLIENT_LIBRARIES", "check"]

CLIENT_LIBRARIES = {
    "jmsbridge_embedded": set[str](),
    "jmsbridge_amqp": {"proton", "cproton_ffi"},
    "jmsbridge_rabbitmq": {"pika"},
    "jmsbridge_stomp": {"stomp"},
    "jmsbridge_pulsar": {"pulsar", "_pulsar", "google_crc32c"},
    "redis_jms": {"redis", "hiredis"},
}
"""The top-level modules of each backend's client library, and of what else its extra installs."""

_BORDER = ("spi", "transport", "codecs", "selectors")
_CONTRACT = ("spi", "codecs", "selectors", "values", "errors")
_BELOW_THE_FACADE = dict.fromkeys(_BORDER, _CONTRACT) | {
    "transport": ("transport", "spi", "codecs", "values", "errors")
}
_SOCKETS = {"socket", "ssl", "select", "selectors"}
_KNOW_SOCKETS = ("jmsbridge/transport", "jmsbridge/testing", "jmsbridge/cli")
_NOT_FOR_CORE = ("cli", "spark", "testing", "aio", "app")
_BACKEND = re.compile(r"\b(?:" + "|".join(CLIENT_LIBRARIES) + r")\b")


def check(source: Source) -> Iterator[Violation]:
    """Backends import only the SPI and its helpers, the library names no backend, the core imports no user of it."""
    if source.within("backends", "examples/redis_streams/redis_jms"):
        yield from _backend(source)
    elif source.within("jmsbridge"):
        yield from _library(source)


def _backend(source: Source) -> Iterator[Violation]:
    own = source.module.split(".")[0]
    allowed = {*sys.stdlib_module_names, "msgspec", own} | CLIENT_LIBRARIES.get(own, set())
    for node, name in source.imports():
        if not (name.split(".")[0] in allowed or _reaches(name, _BORDER)):
            yield source.broken(node, f"a backend may not import {name}")


def _library(source: Source) -> Iterator[Violation]:
    for number, line in enumerate(source.lines, 1):
        for match in _BACKEND.finditer(line):
            yield source.broken(number, f"the library names the backend {match[0]}")
    for node, name in source.imports():
        if source.within("jmsbridge/core") and _reaches(name, _NOT_FOR_CORE):
            yield source.broken(node, f"jmsbridge.core may not import {name}")
        if name.split(".")[0] in _SOCKETS and not source.within(*_KNOW_SOCKETS):
            yield source.broken(node, f"in the library only the transport uses sockets; this imports {name}")
        part = next((part for part in _BORDER if source.within(f"jmsbridge/{part}")), None)
        if part and name.split(".")[0] == "jmsbridge" and not _reaches(name, _BELOW_THE_FACADE[part]):
            yield source.broken(node, f"what backends import may not import {name}, which is above it")


def _reaches(name: str, parts: tuple[str, ...]) -> bool:
    return name.startswith(tuple(f"jmsbridge.{part}." for part in parts)) or name in {
        f"jmsbridge.{part}" for part in parts
    }
