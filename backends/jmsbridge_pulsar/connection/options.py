"""The options of a connection to Pulsar, in addition to those of every broker."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge.transport.network.tls import TlsOptions, refuse_tls_options

__all__ = ["PORT", "TLS_PORT", "PulsarOptions", "WithoutTls", "login_of", "method_of"]

PORT, TLS_PORT = 6650, 6651
"""The usual ports of Pulsar."""

_TOKEN: Final = re.compile(r"[!-~]+")


class PulsarOptions(TlsOptions, frozen=True, kw_only=True):
    """Options of ``pulsar://`` and ``pulsar+ssl://``."""

    namespace: str = "public/default"
    """Tenant and namespace of names that are not full (``persistent://tenant/namespace/name``)."""
    token: str | None = None
    """The token with which to log in; a URL with user and password logs in by these instead (``basic``)."""
    token_file: str | None = None
    """A file with that token. It is read for each new connection, and when the broker asks for a new token because the
    last one has expired."""
    admin_url: str | None = None
    """The REST interface of the cluster, such as ``http://host:8080``. Without it there is no administration,
    browsers are emulated, definitions of subscriptions are not compared, and temporary destinations stay behind."""
    queue_subscription: str = "jms-queue"
    """The subscription that makes a topic a queue. Programs in Java must have the same one, as
    ``jms.queueSubscriptionName``."""
    dead_letter_queue: str = "DLQ"
    """The queue for messages that were redelivered too often; empty for none."""
    single_address: bool = False
    """Reach all brokers by the host and port of the URL, whatever addresses they give: for one broker behind a
    forwarded port."""
    batching: bool = True
    """Join messages that are sent at the same time into one entry. Queues then need brokers that acknowledge each
    message of an entry (``acknowledgmentAtBatchIndexLevelEnabled=true``); on others a message that returns brings back
    those of its entry that are acknowledged already."""

    broker_selectors: bool = False
    """Also give the selectors of topics' consumers to the broker's filter for JMS (``entryFilterNames=jms``), so that
    less is sent here. Without the filter this changes nothing."""

    def __post_init__(self) -> None:
        if self.token is not None and self.token_file is not None:
            raise ValueError("options 'token' and 'token_file' exclude each other")
        if self.namespace.count("/") != 1 or not all(self.namespace.split("/")):
            raise ValueError(f"option 'namespace' must be tenant/namespace, not {self.namespace!r}")
        if self.token is not None and not _TOKEN.fullmatch(self.token):
            raise ValueError("option 'token' must be one word of ASCII characters")
        if self.admin_url is not None:
            _check_admin_url(self.admin_url)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        for secret in ("token", "key_password"):
            shown[secret] = "***" if shown[secret] else None
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class WithoutTls(PulsarOptions, frozen=True, kw_only=True):
    """Options of ``pulsar://``, where those of TLS are refused."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_tls_options(self, "pulsar", "pulsar+ssl")


def login_of(endpoint: Endpoint, options: PulsarOptions) -> tuple[str, bytes] | None:
    """The method and the data with which to log in; None for anonymous. ConnectFailed if the token cannot be read."""
    method = method_of(endpoint, options)
    if method == "basic":
        return method, f"{endpoint.user}:{endpoint.password or ''}".encode()
    if method == "token" and options.token_file is not None:
        return method, _read_token(endpoint, options.token_file)
    if method == "token" and options.token is not None:
        return method, options.token.encode()
    return None if method is None else (method, b"")


def method_of(endpoint: Endpoint, options: PulsarOptions) -> str | None:
    """The method with which to log in; None for anonymous."""
    if endpoint.user is not None:
        return "basic"
    if options.token_file is not None or options.token is not None:
        return "token"
    return None if options.certificate is None else "tls"


def _read_token(endpoint: Endpoint, file: str) -> bytes:
    try:
        token = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectFailed(
            f"{endpoint}: the file with the token, {file!r}, cannot be read ({type(error).__name__})"
        ) from None  # the text of UnicodeDecodeError has a part of the file
    if not _TOKEN.fullmatch(token):
        what = "more than one word of ASCII characters" if token else "nothing"
        raise ConnectFailed(f"{endpoint}: the file with the token, {file!r}, has {what} in it")
    return token.encode()


def _check_admin_url(url: str) -> None:
    """Raise ValueError without showing a password that may be in it."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or parts.query or parts.fragment:
        raise ValueError("option 'admin_url' must be like http://host:8080 or https://host:8443")
    if "@" in parts.netloc:
        raise ValueError("option 'admin_url' must not have a user: the login of the connection is used")
