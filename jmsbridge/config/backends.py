"""Finds the backend of a URL's scheme, or says what to install or to write instead."""

import re

from jmsbridge.config.masking import shown_scheme
from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import OtherVersion, registry
from jmsbridge.spi.backend import Backend

__all__ = ["EXTRAS", "NETWORKED", "backend_for", "install_hint", "missing_backend", "refuse_java_url"]

EXTRAS = {
    "amqp": "amqp",
    "amqps": "amqp",
    "rabbitmq": "rabbitmq",
    "rabbitmqs": "rabbitmq",
    "pulsar": "pulsar",
    "pulsar+ssl": "pulsar",
    "stomp": "stomp",
    "stomp+ssl": "stomp",
}
"""The extra of the wheel that brings a scheme's client library."""

NETWORKED = frozenset(EXTRAS)
"""Schemes whose URLs name a host."""

_INSTEAD = {"amqp": "rabbitmq", "amqps": "rabbitmqs"}
_JAVA = re.compile(
    r"\(|(?:tcp|ssl|(?:auto\+)?nio(?:\+ssl)?|auto(?:\+ssl)?|failover|fanout|discovery|masterslave|static|vm|peer):",
    re.I,
)


def install_hint(scheme: str) -> str:
    """How to install the missing client library of a scheme."""
    if scheme in EXTRAS:
        return f"pip install 'jmsbridge[{EXTRAS[scheme]}]'"
    return "reinstall the package of its backend, with its requirements"


def missing_backend(scheme: str) -> str | None:
    """Why this scheme cannot be used in this version or installation, and the remedy; None if it can be used."""
    try:
        registry.load(scheme)
    except KeyError:
        return _unknown(scheme)
    except OtherVersion as error:
        return str(error)
    except ImportError as error:
        return f"the backend for {scheme!r} lacks its client library ({error}): {install_hint(scheme)}"
    return None


def backend_for(scheme: str) -> Backend:
    """The backend of a scheme; ConfigurationError with the nearest scheme, or how to install this one."""
    why = missing_backend(scheme)
    if why is None:
        return registry.load(scheme)
    instead = _INSTEAD.get(scheme)
    hint = f"; for RabbitMQ, write {instead}:// instead" if instead in registry.names() else ""
    raise ConfigurationError(f"{why}{hint}")


def _unknown(scheme: str) -> str:
    return f"unknown scheme {shown_scheme(scheme)}: {nearest(scheme, [*registry.names(), *EXTRAS], 'schemes')}"


def refuse_java_url(text: str) -> None:
    """ConfigurationError if a target is a URL of a Java client, unless a backend has that scheme."""
    match = _JAVA.match(text)
    if match is not None and match[0][:-1].lower() not in registry.names():
        raise ConfigurationError(
            f"a URL that begins with {match[0]!r} is one of a Java client: `jmsbridge import 'URL'` turns it into a "
            "profile, and says how its options are translated"
        )
