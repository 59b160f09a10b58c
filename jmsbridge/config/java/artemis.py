"""ActiveMQ Artemis: ``tcp://host:port?…``, ``(tcp://a,tcp://b)?ha=true…``, ``tcp://a#tcp://b``."""

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.pauses import Reconnect, apply_reconnect, reconnect_rules
from jmsbridge.config.java.rules import TLS, Table, alike, apply, differs, none, pop, to
from jmsbridge.config.java.text import attempts, count, deadline, flag
from jmsbridge.config.java.urls import Composite, Member, merged_options, put_urls
from jmsbridge.config.masking import shown_scheme
from jmsbridge.errors import ConfigurationError

__all__ = ["FIRST", "TABLE", "read"]

_CORE = "specific to the core protocol"
_SOCKET = "handled by the backend"
_HEART_BEATS = "heart-beats are an option of the backend, where it has one"
_COMPRESSED = "bodies are not compressed, so that every reader understands them"
_SECURITY = "Java objects are never executed here, so there is nothing to allow or deny"
_IN_ORDER = "the URLs are tried in the order given"
_INSIDE = "an internal setting of the Java client"

_RECONNECT = Reconnect("retryInterval", "maxRetryInterval", multiplier="retryIntervalMultiplier", grows=False)
FIRST: Table = reconnect_rules(_RECONNECT)
"""Options that depend on each other, read before the others."""

TABLE: Table = {
    "user": to("user"),
    "password": to("password"),
    "clientID": to("client_id"),
    "callTimeout": to("send_timeout", deadline, "only for sends here; other calls use connect_timeout"),
    "callFailoverTimeout": none("waiting for a new connection counts towards the deadline of the call here"),
    **alike("netty-connect-timeout connect-timeout-millis", to("connect_timeout", deadline)),
    "handshake-timeout": none("part of connect_timeout here"),
    "reconnectAttempts": to("reconnect_attempts", attempts),
    "initialConnectAttempts": differs("1", "the first connect tries each URL once"),
    "failoverOnInitialConnection": none("the first connect tries each URL once"),
    "ha": differs("false", "the broker does not announce backups here: list their URLs"),
    "useTopologyForLoadBalancing": differs("false", "only the brokers of the list are used here"),
    **alike("connectionLoadBalancingPolicyClassName loadBalancingPolicyClassName", none(_IN_ORDER)),
    "blockOnDurableSend": to("block_on_durable_send", flag),
    "blockOnNonDurableSend": to("block_on_non_durable_send", flag),
    "blockOnAcknowledge": to("block_on_acknowledge", flag),
    "confirmationWindowSize": to(
        "confirmation_window_size", lambda text: None if text.strip() in ("-1", "0") else count(text)
    ),
    "consumerWindowSize": none("counts bytes, but prefetch counts messages; 0 becomes prefetch 0"),
    "producerWindowSize": none("counts bytes of credit; send_window and confirmation_window_size limit sends here"),
    **alike("consumerMaxRate producerMaxRate", differs("-1", "rates are not limited here")),
    "preAcknowledge": differs("false", "use PRE_ACKNOWLEDGE sessions"),
    "dupsOKBatchSize": none("counts bytes, but dups_ok_messages counts messages"),
    "transactionBatchSize": none("acknowledgements of a transaction are sent with its commit here"),
    **alike("clientFailureCheckPeriod connectionTTL connectionTtl", none(_HEART_BEATS)),
    "minLargeMessageSize": none("the broker decides what is large"),
    **alike("compressLargeMessages compressLargeMessage", differs("false", _COMPRESSED)),
    "compressionLevel": none(_COMPRESSED),
    "cacheLargeMessagesClient": differs("false", _CORE),
    "autoGroup": differs("false", "set the property JMSXGroupID"),
    "groupID": none("set the property JMSXGroupID"),
    "type": differs("cf", "one factory creates every kind of connection; XA is not offered"),
    "enableSharedClientID": differs("false", "a client id is used by one connection at a time"),
    "enable1xPrefixes": differs("false", "write the names of destinations in full"),
    "finalizeChecks": none(_INSIDE),
    "onMessageCloseTimeout": none("close waits for a listener in progress"),
    **alike("incomingInterceptorList outgoingInterceptorList", none("interceptors are Java classes")),
    **alike(
        "useGlobalPools scheduledThreadPoolMaxSize threadPoolMaxSize flowControlThreadPoolMaxSize",
        none("there are no thread pools here"),
    ),
    "initialMessagePacketSize": none(_CORE),
    "cacheDestinations": none("destinations are only names here"),
    "ignoreJTA": none("XA is not offered"),
    "deserialization*": none(_SECURITY),
    "protocolManagerFactoryStr": none(_CORE),
    **alike("protocols protocol", none("determined by the URL's scheme")),
    "verifyHost": differs("true", "host names are checked; an option of the backend turns that off"),
    "trustAll": differs("false", "certificates are checked; an option of the backend turns that off"),
    **alike("trustStorePath trustStorePassword trustStoreProvider trustStoreType", none(TLS)),
    **alike("keyStorePath keyStorePassword keyStoreProvider keyStoreType keyStoreAlias", none(TLS)),
    **alike(
        "useDefaultSslContext forceSSLParameters sniHost sslContext crlPath crcOptions ocspResponderURL", none(TLS)
    ),
    "trustManagerFactoryPlugin": none("a Java class"),
    "sslKrb5Config": none("GSSAPI is not offered"),
    "sslEnabled": differs("false", "determined by the URL's scheme"),
    **alike("sslProvider sslAutoReload enabledCipherSuites enabledProtocols", none("chosen by the TLS library")),
    **alike("httpEnabled httpUpgradeEnabled useServlet", differs("false", "tunnels through HTTP are not supported")),
    **alike(
        "httpClientIdleTime httpClientIdleScanPeriod httpResponseTime httpServerScanPeriod httpRequiresSessionId "
        "httpUpgradeEndpoint servletPath",
        none("tunnels through HTTP are not supported"),
    ),
    "tcpNoDelay": differs("true", _SOCKET),
    **alike(
        "tcpSendBufferSize tcpReceiveBufferSize writeBufferLowWaterMark writeBufferHighWaterMark useNio "
        "useNioGlobalWorkerPool useGlobalWorkerPool useInvm useEpoll useKQueue useIoUring nioRemotingThreads "
        "remotingThreads batchDelay directDeliver localAddress localPort quietPeriod shutdownTimeout "
        "activemqServerName routerName",
        none(_SOCKET),
    ),
    **alike(
        "socksEnabled socksHost socksPort socksVersion socksUsername socksPassword socksRemoteDNS",
        none("proxies are not supported"),
    ),
    **alike(
        "discoveryGroupName discoveryInitialWaitTimeout refreshTimeout", none("brokers are not discovered: list them")
    ),
}


def read(draft: Draft, url: Composite, by: str, prefer: str = "amqp") -> None:
    """Fill the draft from a URL, for the preferred protocol (``amqp`` or ``stomp``)."""
    if url.members[0].scheme == "vm":
        draft.urls.append("embedded:")
        draft.note(by, "changed", "the broker embedded in the Java process becomes one embedded in the Python process")
        for option in merged_options(draft, url, ""):
            draft.drop(option, "the embedded broker is created on first use, with its own options")
        return
    if len({_tls(one, url) for one in url.members}) > 1:
        raise ConfigurationError("a failover list cannot mix plain and TLS connectors here")
    for one in url.members:
        if one.scheme not in ("tcp", "ssl"):
            raise ConfigurationError(
                f"Artemis' {shown_scheme(one.scheme)} has no equivalent, since brokers are not discovered: list them"
            )
    tls = _tls(url.members[0], url)
    scheme = {"amqp": "amqps", "stomp": "stomp+ssl"}[prefer] if tls else prefer
    put_urls(
        draft, scheme, [msgspec.structs.replace(one, port=one.port or "61616", path="") for one in url.members], by
    )
    draft.note(
        by,
        "changed",
        f"the port must also accept {prefer.upper()}, as an acceptor does unless its protocols= excludes it",
    )
    options = merged_options(draft, url, "")
    pop(options, "sslEnabled")
    window = pop(options, "consumerWindowSize")
    if window is not None and window.strip() == "0":
        draft.set("prefetch", 0, "consumerWindowSize")
    elif window is not None:
        options["consumerWindowSize"] = window
    apply_reconnect(draft, options, _RECONNECT)
    apply(draft, TABLE, options, FIRST)


def _tls(one: Member, url: Composite) -> bool:
    """Whether a broker is reached by TLS: by its own option, else by that of the whole list."""
    enabled = {name.lower(): value for name, value in (url.options | one.options).items()}.get("sslenabled", "")
    return one.scheme == "ssl" or enabled.strip().lower() == "true"
