"""The available brokers: versions, listeners, default ports, users, as in `docker/compose.yaml`."""

from collections.abc import Collection
from dataclasses import dataclass, field

__all__ = [
    "CLIENT_CERTIFICATES",
    "COMMITS_REFUSED",
    "HOST",
    "KINDS",
    "LOGINS",
    "MEASURING",
    "NO_FILTER",
    "NO_SCHEDULER",
    "NO_XSTREAM",
    "PASSWORD",
    "REFUSALS",
    "SMALL_QUEUES",
    "USER",
    "Kind",
    "kind",
]

HOST = "127.0.0.1"
USER = "jb"
PASSWORD = "jbpass"


@dataclass(frozen=True)
class Kind:
    """One kind of broker: its names, and its default ports."""

    name: str
    title: str
    version: str
    ports: dict[str, int]
    """Listener to default port; the first one is the broker's main protocol."""
    schemes: dict[str, str]
    """URL scheme to listener; `url()` uses the first one."""
    internal: frozenset[str] = field(default=frozenset())
    """Listeners that clients do not use."""
    login: bool = True
    options: dict[str, str] = field(default_factory=dict)
    """The options with which it can be started: name to effect."""

    @property
    def variable(self) -> str:
        """The environment variable that names an external server of this kind."""
        return f"JMSBRIDGE_{self.name.upper()}_URL"

    def chosen(self, options: Collection[str]) -> tuple[str, ...]:
        """The options in order, each once; ValueError for an unknown one."""
        for option in options:
            if option not in self.options:
                known = ", ".join(self.options) or "none"
                raise ValueError(f"{self.title} has no option {option!r}; it has {known}")
        return tuple(sorted(set(options)))


CLIENT_CERTIFICATES = "client-certificates"
COMMITS_REFUSED = "commits-refused"
LOGINS = "logins"
MEASURING = "measuring"
NO_FILTER = "no-filter"
NO_SCHEDULER = "no-scheduler"
NO_XSTREAM = "no-xstream"
REFUSALS = "refusals"
SMALL_QUEUES = "small-queues"

_EVERYWHERE = {MEASURING: "with more memory and disk, for measurements of speed"}
_CERTIFICATES = {CLIENT_CERTIFICATES: "the listeners with TLS refuse clients without a certificate", **_EVERYWHERE}
_AMQP_STOMP = {"amqp": "amqp", "amqps": "amqps", "stomp": "stomp", "stomp+ssl": "stomps"}


def _rabbitmq(name: str, title: str, version: str, base: int) -> Kind:
    return Kind(
        name,
        title,
        version,
        {
            "amqp": base + 672,
            "amqps": base + 671,
            "stomp": base + 613,
            "stomps": base + 612,
            "admin": base + 680,
            "dist": base + 690,
            "epmd": base + 669,
        },
        {
            "rabbitmq": "amqp",
            "rabbitmqs": "amqps",
            **_AMQP_STOMP,
            "http": "admin",
        },
        frozenset({"dist", "epmd"}),
        options=_CERTIFICATES,
    )


KINDS: dict[str, Kind] = {
    made.name: made
    for made in (
        _rabbitmq("rabbitmq", "RabbitMQ 4", "4.0.5", 23000),
        _rabbitmq("rabbitmq3", "RabbitMQ 3.10", "3.10.8", 24000),
        Kind(
            "activemq",
            "ActiveMQ Classic",
            "6.3.1",
            {"amqp": 22672, "amqps": 22671, "stomp": 22613, "stomps": 22612, "admin": 22680, "openwire": 22616},
            {**_AMQP_STOMP, "tcp": "openwire", "http": "admin"},
            options={
                **_CERTIFICATES,
                COMMITS_REFUSED: "it commits a transaction although it has refused a message of it",
                NO_SCHEDULER: "without the scheduler for delayed messages, as it is distributed",
                NO_XSTREAM: "without the libraries that convert maps and objects for STOMP, as Debian packages it",
                REFUSALS: "clients without a login may use only the queues open.>; a full queue refuses messages",
                SMALL_QUEUES: "the queues open.small.> have room for 1.5 MB",
            },
        ),
        Kind(
            "artemis",
            "ActiveMQ Artemis",
            "2.56.0",
            {"amqp": 21672, "amqps": 21671, "stomp": 21613, "stomps": 21612, "core": 21616},
            {**_AMQP_STOMP, "tcp": "core"},
            options=_CERTIFICATES,
        ),
        Kind(
            "brokerj",
            "Qpid Broker-J",
            "10.1.0",
            {"amqp": 25672, "amqps": 25671, "admin": 25680},
            {"amqp": "amqp", "amqps": "amqps", "http": "admin"},
            options=_CERTIFICATES,
        ),
        Kind(
            "pulsar",
            "Apache Pulsar",
            "4.0.8",
            {"binary": 26650, "tls": 26651, "admin": 26680},
            {"pulsar": "binary", "pulsar+ssl": "tls", "http": "admin"},
            login=False,
            options={
                LOGINS: "every client must log in, with the user's password or with a token",
                NO_FILTER: "without the filter for selectors on the server, like Pulsar as it is distributed",
                **_CERTIFICATES,
            },
        ),
    )
}


def kind(name: str) -> Kind:
    """The kind of broker of that name; a ValueError lists the names."""
    try:
        return KINDS[name]
    except KeyError:
        raise ValueError(f"there is no broker {name!r}; there are {', '.join(KINDS)}") from None
