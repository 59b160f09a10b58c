"""Starlight for JMS: ``pulsar://`` service URLs and the configuration map of its connection factory."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.pauses import Seconds, duration, factor, put_redelivery
from jmsbridge.config.java.pulsar_login import LOGINS, login
from jmsbridge.config.java.rules import TLS, Table, alike, apply, differs, none, pop, to
from jmsbridge.config.java.text import (
    AT_RUN_TIME,
    UNLIMITED,
    Unlike,
    count,
    deadline,
    flag,
    limit,
    milliseconds,
    opened,
    split_outside,
    unresolved,
)
from jmsbridge.config.java.urls import Member, address, put_urls
from jmsbridge.config.masking import shown_scheme
from jmsbridge.errors import ConfigurationError

__all__ = ["FIRST", "TABLE", "dead_letters", "first_host", "read_factory", "read_url"]

_OWN = "the pulsar backend has no such option"
_JAVA = "an internal setting of the Java client"
_RETRY = "a failed message waits in its consumer here, not in a topic"
_NACK = "consumerConfig.negativeAckRedelivery"
_BACKOFF = f"{_NACK}Backoff."
_JAVA_SHORTEST, _JAVA_LONGEST, _JAVA_MULTIPLIER = 10, 600, 2.0  # the Java client's defaults


def _parts(per_millisecond: float) -> Callable[[str], Seconds]:
    """A reader of durations in fractions of a millisecond."""

    def read(text: str) -> Seconds:
        if unresolved(text):
            raise Unlike(AT_RUN_TIME)
        return milliseconds(str(float(text) / per_millisecond))

    return read


def _window(text: str) -> int | str:
    if text.strip() == "0":
        raise Unlike(UNLIMITED)
    return count(text)


def first_host(text: str) -> str:
    """The first of several hosts of an URL for administration."""
    return text.strip().partition(",")[0].rstrip("/")


FIRST: Table = {
    **alike("brokerServiceUrl serviceUrl", to("url")),
    f"{_NACK}DelayMicros": to("redelivery_delay", differs="for the first redelivery and all others, without growing"),
    f"{_BACKOFF}minDelayMs": to("redelivery_delay_first"),
    f"{_BACKOFF}maxDelayMs": to("redelivery_delay_max"),
    f"{_BACKOFF}multiplier": to("redelivery_factor"),
    "consumerConfig.deadLetterPolicy.deadLetterTopic": to("redelivery", differs="for all queues and topics"),
    **alike("authPlugin authPluginClassName", none("says which login is meant")),
    **alike("authParams authParamMap*", to("token", differs=LOGINS)),
}
"""Options that depend on each other, read before the others."""

TABLE: Table = {
    "jms.clientId": to("client_id"),
    **alike("tckUsername tckPassword", none("only for the compliance test of the Java client"), "jms."),
    "jms.emulateTransactions": differs("true", "transactions are emulated unless emulation.transactions refuses it"),
    **alike("enableClientSideEmulation acknowledgeRejectedMessages", none("see the option emulation"), "jms."),
    "jms.waitForServerStartupTimeout": to("connect_timeout", deadline),
    "jms.useCredentialsFromCreateConnection": none("user and password of the call are always used here"),
    "jms.sessionListenersThreads": none("every session has its own thread, if it needs one"),
    "jms.connectionConsumerStopTimeout": none("connection consumers are not offered"),
    "jms.maxMessagesLimitsParallelism": none("connection consumers are not offered"),
    "jms.connectionConsumerParallelism": none("connection consumers are not offered"),
    "jms.queueSubscriptionName": to("queue_subscription"),
    "jms.systemNamespace": to("namespace"),
    "jms.useServerSideFiltering": to("broker_selectors", flag, differs="for selectors on topics"),
    "jms.precreateQueueSubscription*": none(_OWN),
    **alike(
        "allowTemporaryTopicWithoutAdmin enableJMSPriority forceDeleteTemporaryDestinations priorityMapping "
        "refreshServerSideFiltersPeriod topicSharedSubscriptionType transactionsStickyPartitions "
        "useExclusiveSubscriptionsForSimpleConsumers usePulsarAdmin",
        none(_OWN),
        "jms.",
    ),
    "jms.useSharedJNDIContext": none(_JAVA),
    "tlsAllowInsecureConnection": differs("false", "certificates are checked; an option of the backend turns that off"),
    **alike(
        "tlsEnableHostnameVerification tlsHostnameVerificationEnable",
        differs("true", "host names are checked; an option of the backend turns that off"),
    ),
    "tlsTrustCertsFilePath": to("ca_file"),
    "tlsCertificateFilePath": to("certificate"),
    "tlsKeyFilePath": to("key"),
    **alike(
        "tlsCiphers tlsKeyStorePassword tlsKeyStorePath tlsKeyStoreType "
        "tlsProtocols tlsTrustStorePassword tlsTrustStorePath tlsTrustStoreType sslProvider autoCertRefreshSeconds",
        none(TLS),
    ),
    "useKeyStoreTls": differs("false", TLS),
    "useTls": none("determined by the URL's scheme"),
    "connectionTimeoutMs": to("connect_timeout", deadline),
    **alike("operationTimeoutMs lookupTimeoutMs requestTimeoutMs readTimeoutMs", none("part of connect_timeout here")),
    "initialBackoffIntervalNanos": to("reconnect_delay", _parts(1e6)),
    "maxBackoffIntervalNanos": to("reconnect_delay_max", _parts(1e6)),
    **alike(
        "numIoThreads numListenerThreads connectionsPerBroker connectionMaxIdleSeconds statsIntervalSeconds "
        "useTcpNoDelay concurrentLookupRequest maxLookupRequest maxLookupRedirects enableBusyWait "
        "maxNumberOfRejectedRequestPerConnection dnsLookupBindAddress dnsLookupBindPort description",
        none(_JAVA),
    ),
    "webServiceUrl": to("admin_url", first_host),
    "enableTransaction": differs("false", "transactions are emulated: they need nothing of the broker"),
    **alike("keepAliveIntervalSeconds memoryLimitBytes listenerName", none(_OWN)),
    **alike(
        "proxyServiceUrl proxyProtocol socks5ProxyAddress socks5ProxyUsername socks5ProxyPassword",
        none("proxies are not supported"),
    ),
    "producerConfig.sendTimeoutMs": to("send_timeout", deadline),
    "producerConfig.maxPendingMessages": to("send_window", _window),
    "producerConfig.batchingEnabled": to("batching", flag),
    "producerConfig.blockIfQueueFull": differs("true", "a send that finds the window full waits"),
    **alike(
        "accessMode autoUpdatePartitions autoUpdatePartitionsIntervalSeconds batcherBuilder "
        "batchingMaxBytes batchingMaxMessages batchingMaxPublishDelayMicros "
        "batchingPartitionSwitchFrequencyByPublishDelay chunkMaxMessageSize chunkingEnabled compressionType "
        "cryptoFailureAction cryptoKeyReader customMessageRouter encryptionKeys hashingScheme initialSequenceId "
        "initialSubscriptionName lazyStartPartitionedProducers maxPendingMessagesAcrossPartitions "
        "messageRoutingMode multiSchema producerName topicName",
        none(_OWN),
        "producerConfig.",
    ),
    "producerConfig.properties*": none(_OWN),
    "consumerConfig.receiverQueueSize": to("prefetch", count),
    "consumerConfig.deadLetterPolicy.maxRedeliverCount": to("max_redeliveries", limit),
    "consumerConfig.deadLetterPolicy.initialSubscriptionName": none(_OWN),
    "consumerConfig.deadLetterPolicy.retryLetterTopic": none(_RETRY),
    "consumerConfig.retryEnable": differs("false", _RETRY),
    "consumerConfig.ackTimeoutMillis": differs(
        "0", "unacknowledged messages are redelivered when their consumer closes"
    ),
    **alike(
        "ackTimeoutRedeliveryBackoff* tickDurationMillis",
        none("unacknowledged messages are redelivered when their consumer closes"),
        "consumerConfig.",
    ),
    **alike(
        "ackReceiptEnabled acknowledgementsGroupTimeMicros autoAckOldestChunkedMessageOnQueueFull "
        "autoScaledReceiverQueueSizeEnabled autoUpdatePartitions autoUpdatePartitionsIntervalSeconds "
        "batchIndexAckEnabled consumerName cryptoFailureAction cryptoKeyReader "
        "expireTimeOfIncompleteChunkedMessageMillis maxAcknowledgmentGroupSize maxPendingChunkedMessage "
        "maxTotalReceiverQueueSizeAcrossPartitions messageCrypto patternAutoDiscoveryPeriod poolMessages "
        "priorityLevel readCompacted regexSubscriptionMode replicateSubscriptionState resetIncludeHead startPaused "
        "subscriptionInitialPosition subscriptionMode subscriptionName subscriptionType topicNames topicsPattern "
        "useSchema",
        none(_OWN),
        "consumerConfig.",
    ),
    **alike("properties* subscriptionProperties*", none(_OWN), "consumerConfig."),
    "autoCloseConnectionFactory": none("a connection is closed by its own close"),
}


def read_url(draft: Draft, text: str, by: str) -> None:
    """Fill the draft from a service URL, which may name several hosts."""
    scheme, _, rest = text.strip().partition("://")
    if scheme.lower() not in ("pulsar", "pulsar+ssl"):
        raise ConfigurationError(
            f"a service URL of Pulsar must begin with pulsar:// or pulsar+ssl://, not {shown_scheme(scheme)}"
        )
    hosts, _, _ = rest.partition("/")
    members = [Member(scheme, *address(one), "", None, None, {}) for one in split_outside(hosts)]
    if not members:
        raise ConfigurationError("the service URL has no host")
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
            raise ConfigurationError("the configuration has no brokerServiceUrl")
        url = web
    read_url(draft, url, "brokerServiceUrl")
    _redelivery(draft, flat)
    topic = pop(flat, "consumerConfig.deadLetterPolicy.deadLetterTopic")
    if topic:
        dead_letters(draft, topic, "consumerConfig.deadLetterPolicy.deadLetterTopic")
    _login(draft, flat)
    if draft.urls[0].startswith("pulsar://"):
        for name in ("tlsTrustCertsFilePath", "tlsCertificateFilePath", "tlsKeyFilePath"):
            if pop(flat, name) is not None:
                draft.drop(name, "the URL is without TLS, so the Java client does not use it either")
    apply(draft, TABLE, flat, FIRST)


def _login(draft: Draft, options: dict[str, str]) -> None:
    plugin, by, named = "", "", {}
    for name in ("authPlugin", "authPluginClassName"):
        plugin = pop(options, name) or plugin
    text = pop(options, "authParams") or ""
    for name in [each for each in options if each.lower().startswith(("authparams.", "authparammap."))]:
        by, _, inner = name.partition(".")
        named[inner] = options.pop(name)
    if plugin:
        login(draft, plugin, text, named, by or "authParams")


def dead_letters(draft: Draft, topic: str, by: str) -> None:
    """Set the queue for dead letters of every destination."""
    everywhere = {"dead_letter_queue": opened(topic)}
    if draft.set("redelivery", {"*": everywhere, "topic:*": everywhere}, by):
        draft.note(by, "changed", "the queue of that name takes the dead letters of all queues and topics")


def _redelivery(draft: Draft, options: dict[str, str]) -> None:
    """The pauses after a negative acknowledgement; of the two forms the growing one wins, as in Java."""
    constant = duration(draft, options, f"{_NACK}DelayMicros", read=_parts(1e3))
    if any(name.lower().startswith(_BACKOFF.lower()) for name in options):
        if constant is not None:
            draft.drop(f"{_NACK}DelayMicros", f"{_BACKOFF}* wins, as in Java")
        first = duration(draft, options, f"{_BACKOFF}minDelayMs", _JAVA_SHORTEST)
        longest = duration(draft, options, f"{_BACKOFF}maxDelayMs", _JAVA_LONGEST)
        multiplier = factor(draft, options, f"{_BACKOFF}multiplier", _JAVA_MULTIPLIER)
        assert first is not None
        if isinstance(first, int | float) and isinstance(longest, int | float):
            second: Seconds = min(first * multiplier, longest)
        else:
            second = first
            draft.note(f"{_BACKOFF}multiplier", "changed", "the second pause is the first one; then they grow")
        put_redelivery(draft, f"{_BACKOFF}*", first=first, delay=second, factor=multiplier, longest=longest)
    elif constant is not None:
        put_redelivery(draft, f"{_NACK}DelayMicros", first=constant, delay=constant)


def _nested(name: str, text: str) -> dict[str, str]:
    if not text.lstrip().startswith("{"):
        return {name: text}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigurationError(f"the value of {name} is not JSON") from None
    return dict(_leaves(name, value))


def _leaves(name: str, value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        return [(name, str(value).lower() if isinstance(value, bool) else str(value))]
    return [leaf for key, inner in value.items() for leaf in _leaves(f"{name}.{key}", inner)]
