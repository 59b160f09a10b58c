"""Starlight for JMS: ``pulsar://`` service URLs and the configuration map of its connection factory."""

import json
from collections.abc import Mapping
from typing import Any

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.rules import TLS, Table, apply, differs, none, pop, to
from jmsbridge.config.java.text import int_or_reference, milliseconds, split_outside
from jmsbridge.config.java.urls import Member, address, put_urls
from jmsbridge.errors import ConfigurationError

__all__ = ["TABLE", "read_factory", "read_url"]

_OWN = "an option of the pulsar backend, where it has one"
_JAVA = "the Java client's inner workings"

TABLE: Table = {
    "jms.clientId": to("client_id"),
    "jms.tckUsername": none("only for the compliance test of the Java client"),
    "jms.tckPassword": none("only for the compliance test of the Java client"),
    "jms.systemNamespace": none(_OWN),
    "jms.queueSubscriptionName": none(_OWN),
    "jms.topicSharedSubscriptionType": none(_OWN),
    "jms.usePulsarAdmin": none(_OWN),
    "jms.emulateTransactions": differs("true", "transactions are emulated unless emulation.transactions refuses it"),
    "jms.enableClientSideEmulation": none("see the option emulation"),
    "jms.useServerSideFiltering": none(_OWN),
    "jms.acknowledgeRejectedMessages": none("see the option emulation"),
    "jms.enableJMSPriority": none(_OWN),
    "jms.priorityMapping": none(_OWN),
    "jms.useExclusiveSubscriptionsForSimpleConsumers": none(_OWN),
    "jms.waitForServerStartupTimeout": to("connect_timeout", milliseconds),
    "jms.forceDeleteTemporaryDestinations": none(_OWN),
    "jms.allowTemporaryTopicWithoutAdmin": none(_OWN),
    "jms.precreateQueueSubscription*": none(_OWN),
    "jms.useCredentialsFromCreateConnection": none("user and password of the call always count here"),
    "jms.sessionListenersThreads": none("every session has its own thread, where it needs one"),
    "jms.connectionConsumerStopTimeout": none("connection consumers are not offered"),
    "jms.maxMessagesLimitsParallelism": none("connection consumers are not offered"),
    "jms.*": none(_JAVA),
    "enableTransaction": none(_OWN),
    "webServiceUrl": none(_OWN),
    "authPlugin": none(_OWN),
    "authParams": none(f"holds a credential, which is not copied; {_OWN}"),
    "tlsAllowInsecureConnection": differs(
        "false", "certificates are checked; turning that off is an option of the backend"
    ),
    "tlsEnableHostnameVerification": differs(
        "true", "host names are checked; turning that off is an option of the backend"
    ),
    "tlsTrustCertsFilePath": none(_OWN),
    "tls*": none(TLS),
    "useKeyStoreTls": differs("false", TLS),
    "useTls": none("the scheme of the URL says it"),
    "connectionTimeoutMs": to("connect_timeout", milliseconds),
    "operationTimeoutMs": none("requests share connect_timeout here"),
    "lookupTimeoutMs": none("requests share connect_timeout here"),
    "initialBackoffIntervalNanos": to("reconnect_delay", lambda text: milliseconds(str(float(text) / 1e6))),
    "maxBackoffIntervalNanos": to("reconnect_delay_max", lambda text: milliseconds(str(float(text) / 1e6))),
    "numIoThreads": none(_JAVA),
    "numListenerThreads": none(_JAVA),
    "connectionsPerBroker": none(_JAVA),
    "statsIntervalSeconds": none(_JAVA),
    "keepAliveIntervalSeconds": none(_OWN),
    "memoryLimitBytes": none(_OWN),
    "proxyServiceUrl": none("there are no proxies here"),
    "proxyProtocol": none("there are no proxies here"),
    "listenerName": none(_OWN),
    "producerConfig.sendTimeoutMs": to(
        "send_timeout", lambda text: None if text.strip() == "0" else milliseconds(text)
    ),
    "producerConfig.maxPendingMessages": to(
        "send_window", lambda text: None if text.strip() == "0" else int_or_reference(text)
    ),
    "producerConfig.blockIfQueueFull": differs("true", "a send that finds the window full waits"),
    "producerConfig.*": none(_OWN),
    "consumerConfig.receiverQueueSize": to("prefetch", int_or_reference),
    "consumerConfig.deadLetterPolicy.maxRedeliverCount": to("max_redeliveries", int_or_reference),
    "consumerConfig.deadLetterPolicy.*": none(_OWN),
    "consumerConfig.negativeAckRedeliveryDelayMicros": to(
        "redelivery_delay", lambda text: milliseconds(str(float(text) / 1000))
    ),
    "consumerConfig.negativeAckRedeliveryBackoff.minDelayMs": to("redelivery_delay", milliseconds),
    "consumerConfig.negativeAckRedeliveryBackoff.maxDelayMs": to("redelivery_delay_max", milliseconds),
    "consumerConfig.negativeAckRedeliveryBackoff.multiplier": differs("2.0", "the pause doubles here"),
    "consumerConfig.*": none(_OWN),
    "autoCloseConnectionFactory": none("a connection is closed by its own close"),
}


def read_url(draft: Draft, text: str, by: str) -> None:
    """Fill the draft from a service URL, which may name several hosts."""
    scheme, _, rest = text.strip().partition("://")
    if scheme.lower() not in ("pulsar", "pulsar+ssl"):
        raise ConfigurationError(f"a service URL of Pulsar begins with pulsar:// or pulsar+ssl://, not {scheme!r}")
    hosts, _, _ = rest.partition("/")
    members = [Member(scheme, *address(one), "", None, None, {}) for one in split_outside(hosts)]
    if not members:
        raise ConfigurationError("the service URL names no host")
    put_urls(draft, scheme.lower(), members, by)


def read_factory(draft: Draft, options: Mapping[str, str]) -> None:
    """Fill the draft from a configuration map; nested maps are dotted names, or JSON."""
    flat: dict[str, str] = {}
    for name, text in options.items():
        flat |= _nested(name, text)
    url = pop(flat, "brokerServiceUrl") or pop(flat, "serviceUrl")
    if url is None:
        web = pop(flat, "webServiceUrl")
        if web is None or not web.startswith(("pulsar://", "pulsar+ssl://")):
            raise ConfigurationError("the configuration names no brokerServiceUrl")
        url = web
    read_url(draft, url, "brokerServiceUrl")
    apply(draft, TABLE, flat)


def _nested(name: str, text: str) -> dict[str, str]:
    if not text.lstrip().startswith("{"):
        return {name: text}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigurationError(f"the value of {name} is no JSON") from None
    return dict(_leaves(name, value))


def _leaves(name: str, value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        return [(name, str(value).lower() if isinstance(value, bool) else str(value))]
    return [leaf for key, inner in value.items() for leaf in _leaves(f"{name}.{key}", inner)]
