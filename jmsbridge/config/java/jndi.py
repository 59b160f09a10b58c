"""``jndi.properties`` of every client, and the factory properties of the clients for RabbitMQ and Pulsar."""

from collections.abc import Mapping

from jmsbridge.config.java import classic, pulsar, qpid, rabbitmq
from jmsbridge.config.java.detect import client_of_url, read_url
from jmsbridge.config.java.model import CLIENTS, Client, Draft
from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError

__all__ = ["client_by_url", "client_of", "read"]

_INITIAL = "java.naming.factory.initial"
_PROVIDER = "java.naming.provider.url"
_USER, _PASSWORD = "java.naming.security.principal", "java.naming.security.credentials"
_FACTORY = "connectionfactory."
_FACTORY_PROPERTY = "property.connectionfactory."
_INITIAL_FACTORIES: dict[str, Client] = {
    "org.apache.qpid.jms.jndi.": "qpid",
    "org.apache.activemq.artemis.jndi.": "artemis",
    "org.apache.activemq.jndi.": "classic",
    "com.datastax.oss.pulsar.jms.jndi.": "pulsar",
    "com.rabbitmq.jms.": "rabbitmq",
}
_KINDS_OF_NAMES = ("connectionfactory", "queue", "topic", "property")
_RABBITMQ = ("RMQObjectFactory", "RMQConnectionFactory")
_OBSOLETE = "org.apache.qpid.jndi."


def client_of(properties: Mapping[str, str]) -> Client | None:
    """The client of these properties; None if only a URL in them can tell."""
    initial = properties.get(_INITIAL, "")
    if initial.startswith(_OBSOLETE):
        raise ConfigurationError("this file is for Qpid's client for AMQP 0-9 and 0-10, which is not supported")
    for prefix, client in _INITIAL_FACTORIES.items():
        if initial.startswith(prefix):
            return client
    if any(value.endswith(_RABBITMQ) for value in properties.values()) or "virtualHost" in properties:
        return "rabbitmq"
    if "brokerServiceUrl" in properties:
        return "pulsar"
    return None


def read(draft: Draft, properties: Mapping[str, str], factory: str | None, prefer: str) -> None:
    """Fill the draft from the properties, for one connection factory if there are several."""
    rest = {name: value for name, value in properties.items() if not _said_elsewhere(draft, name, value)}
    if draft.client == "rabbitmq":
        rabbitmq.read_factory(draft, rest, "the factory's properties")
        draft.set("dialect", "jms", "the factory's properties")
        draft.note(
            "the factory's properties", "changed", "dialect jms writes messages for this client; amqp is for others"
        )
        return
    if draft.client == "pulsar":
        url = properties.get(_PROVIDER)
        rest.pop(_PROVIDER, None)
        pulsar.read_factory(draft, ({"brokerServiceUrl": url} if url else {}) | rest)
        return
    name, text = _chosen(draft, rest, factory)
    if draft.client == "classic":
        _classic_properties(draft, rest, name)  # before the URL, which they override in Java
    read_url(draft, text, name, prefer)
    if draft.client == "qpid":
        qpid.settle(draft, _qpid_properties(rest, name))
    if draft.client != "classic":
        _leftover(draft, rest)
    draft.user(properties.get(_USER, ""), _USER)
    draft.password(properties.get(_PASSWORD, ""), _PASSWORD)


def _said_elsewhere(draft: Draft, name: str, value: str) -> bool:
    """Note a property that is JNDI's own or names a destination; returns whether it is one of these."""
    if name in (_INITIAL, _USER, _PASSWORD) or name == "connectionFactoryNames":
        return True
    kind, _, label = name.partition(".")
    if kind.lower() in ("queue", "topic") and label:
        draft.drop(name, f"destinations are created in the program: session.create_{kind.lower()}({value!r})")
        return True
    if name.startswith("java.naming.") and name != _PROVIDER:
        draft.drop(name, "there is no naming service here")
        return True
    return False


def _chosen(draft: Draft, properties: Mapping[str, str], wanted: str | None) -> tuple[str, str]:
    """The property with the URL of the chosen factory's broker, and that URL."""
    found = {name: value for name, value in properties.items() if _names_a_url(name)}
    labels = {_label(name): name for name in found}
    if wanted is not None:
        if wanted not in labels:
            raise ConfigurationError(f"no connection factory {wanted!r}: {nearest(wanted, labels, 'factories')}")
        return labels[wanted], found[labels[wanted]]
    if not found:
        if draft.client == "classic":
            return _PROVIDER, "tcp://localhost:61616"
        raise ConfigurationError("no property names a broker; such a property is connectionfactory.NAME")
    first = next(iter(found))
    for name in found:
        if name != first and found[name] != found[first]:
            draft.drop(name, f"a profile has one broker: import it with --factory {_label(name)}")
    return first, found[first]


def _names_a_url(name: str) -> bool:
    folded = name.lower()
    if folded.startswith("connection.") and folded.endswith(".brokerurl"):
        return True
    return folded.startswith(_FACTORY) or folded in ("brokerurl", _PROVIDER)


def _label(name: str) -> str:
    if name.lower().startswith(_FACTORY):
        return name[len(_FACTORY) :]
    return name.split(".")[1] if name.lower().startswith("connection.") else name


def _qpid_properties(properties: Mapping[str, str], name: str) -> dict[str, str]:
    """``property.connectionfactory.NAME.username`` is ``jms.username`` of that factory."""
    prefix = f"{_FACTORY_PROPERTY}{_label(name)}."
    return {
        f"jms.{key[len(prefix) :]}": value
        for key, value in properties.items()
        if key.lower().startswith(prefix.lower())
    }


def _classic_properties(draft: Draft, properties: Mapping[str, str], name: str) -> None:
    """Read the factory's own properties: ``userName``, ``connection.NAME.clientID`` and the like."""
    options: dict[str, str] = {}
    for key, value in properties.items():
        if _names_a_url(key):
            continue
        parts = key.split(".")
        if parts[0].lower() == "connection" and len(parts) > 2:
            if name.startswith("connection.") and parts[1] != _label(name):
                draft.drop(key, f"belongs to another factory: import it with --factory {parts[1]}")
                continue
            parts = parts[2:]
        options[f"jms.{'.'.join(parts)}"] = value
    classic.settle(draft, options)


def _leftover(draft: Draft, properties: Mapping[str, str]) -> None:
    for name in properties:
        if not _names_a_url(name) and not name.lower().startswith(_FACTORY_PROPERTY):
            hint = nearest(name.partition(".")[0], _KINDS_OF_NAMES, "kinds")
            draft.note(name, "unknown", f"not a known property of {CLIENTS[draft.client]}; {hint}")


def client_by_url(properties: Mapping[str, str]) -> tuple[Client, str | None]:
    """The client to which the URL in the properties belongs."""
    for name, value in properties.items():
        if _names_a_url(name):
            return client_of_url(value)
    raise ConfigurationError(f"nothing in this file names a broker of {', '.join(CLIENTS.values())}")
