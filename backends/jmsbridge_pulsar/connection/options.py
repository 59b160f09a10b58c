"""The options of a connection to Pulsar, in addition to those of every broker."""

from pathlib import Path

from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge.transport.network.tls import TlsOptions, refuse_tls_options

__all__ = ["PulsarOptions", "WithoutTls", "login_of"]


class PulsarOptions(TlsOptions, frozen=True, kw_only=True):
    """Options of ``pulsar://`` and ``pulsar+ssl://``."""

    namespace: str = "public/default"
    """Tenant and namespace of names that are not full (``persistent://tenant/namespace/name``)."""
    token: str | None = None
    """The token with which to log in; a URL with user and password logs in by these instead (``basic``)."""
    token_file: str | None = None
    """A file with that token; it is read for each new connection."""
    admin_url: str | None = None
    """The REST interface of the cluster, such as ``http://host:8080``. Without it there is no administration and no
    browser, definitions of subscriptions are not compared, and temporary destinations stay behind."""
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

    def __post_init__(self) -> None:
        if self.token is not None and self.token_file is not None:
            raise ValueError("options 'token' and 'token_file' exclude each other")
        if self.namespace.count("/") != 1 or not all(self.namespace.split("/")):
            raise ValueError(f"option 'namespace' must be tenant/namespace, not {self.namespace!r}")

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
    if options.token_file is not None:
        try:
            return "token", Path(options.token_file).read_text().strip().encode()
        except (OSError, UnicodeDecodeError) as error:
            raise ConnectFailed(f"{endpoint}: the token in {options.token_file!r} cannot be read: {error}") from error
    if options.token is not None:
        return "token", options.token.encode()
    if endpoint.user is not None:
        return "basic", f"{endpoint.user}:{endpoint.password or ''}".encode()
    if options.certificate is not None:
        return "tls", b""
    return None
