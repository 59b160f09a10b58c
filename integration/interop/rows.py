"""Which client meets which broker, and by which of our schemes: one row each, with what the way changes."""

from dataclasses import dataclass, field
from typing import Literal

from integration.interop.activemq import differences as activemq
from integration.interop.artemis import differences as artemis
from integration.interop.brokerj import differences as brokerj
from integration.interop.changes import NO_DELAY
from integration.interop.differences import Difference, Loss, Refusal
from integration.interop.pulsar import differences as pulsar
from integration.interop.qpid.differences import QPID
from integration.interop.rabbitmq import differences as rabbitmq
from integration.interop.stomp import differences as stomp

__all__ = ["PAGES", "ROWS", "Client", "Row"]


@dataclass(frozen=True)
class Client:
    """A folder here with a ``pom.xml`` and the classes that make the client's connections."""

    folder: str
    factory: str = "Factory"
    """The class among them that the program uses."""
    flavours: tuple[str, ...] = ("jakarta",)
    """The packages of the API for which there is a version of the client."""


@dataclass(frozen=True)
class Row:
    """One way between the languages."""

    name: str
    broker: str
    """Its name in ``integration.lab.table``."""
    client: Client
    java: str
    """The scheme of the client's address."""
    python: str
    """The scheme of our URL, with options."""
    options: dict[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    losses: tuple[Loss, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    module: str | None = None
    """The module of our client library, where that may be missing."""
    temporary_topics: bool = True
    """Whether one language answers the other at a temporary topic."""
    java_temporary: tuple[str, ...] = ("queue", "topic")
    """The kinds of temporary destinations at which Java's client gets answers of Python on this broker."""
    misses_delayed: bool = False
    """Whether the broker may leave a message whose delay has ended to the next consumer, though one waits."""
    queue_address: str = ""
    """What AMQP 1.0 writes before the name of a queue, where the broker does not say so itself."""
    has_rest: bool = False
    """Whether both languages are told where the broker's REST interface is, as the option ``admin_url``."""
    subscriptions: Literal["none", "own", "durable", "shared"] = "durable"
    """Of topics: none, each language its own durable ones, the same one after the other, or at the same time."""

    @property
    def needs_a_body(self) -> bool:
        """Whether the broker refuses a message without one."""
        return any(refusal.sample == "no body" for refusal in self.refusals)

    @property
    def keeps_ids(self) -> bool:
        """Whether a message has the id of its sender."""
        return not any(difference.reason.endswith(": message id") for difference in self.differences)


_RABBITMQ = Client("rabbitmq", flavours=("jakarta", "javax"))
_RABBITMQ_PLAIN = Client("rabbitmq", "PlainFactory", flavours=("jakarta", "javax"))
_QPID = Client("qpid")
_QPID_BROKERJ = Client("qpid", "BrokerJFactory")
_QPID_RABBITMQ = Client("qpid", "RabbitFactory")
_CORE = Client("artemis")
_OPENWIRE = Client("activemq")
_STARLIGHT = Client("pulsar")
_GROUPS = {"emulation.message_groups": "allow"}  # their properties are to be written, whatever the broker makes of them
_DELAYS = {"emulation.delivery_delay": "allow"}
PAGES = {"amqp": "amqp-messages.md", "pulsar": "pulsar.md", "stomp": "stomp.md"}
"""By scheme of ours, the page with the table of losses that ``test_losses`` compares with these rows."""

ROWS = (
    Row(
        "rabbitmq-jms",
        "rabbitmq",
        _RABBITMQ,
        "amqp",
        "rabbitmq",
        {"dialect": "jms", **_GROUPS},
        rabbitmq.JMS,
        refusals=rabbitmq.JMS_REFUSALS,
        subscriptions="shared",
    ),
    Row(
        "rabbitmq-amqp",
        "rabbitmq",
        _RABBITMQ_PLAIN,
        "amqp",
        "rabbitmq",
        {"dialect": "amqp", **_GROUPS},
        rabbitmq.AMQP,
        refusals=rabbitmq.AMQP_REFUSALS,
        temporary_topics=False,
        subscriptions="none",
    ),
    Row(
        "rabbitmq-amqp-marked",
        "rabbitmq",
        _RABBITMQ_PLAIN,
        "amqp",
        "rabbitmq",
        {"dialect": "amqp", "text_marker": "true", **_GROUPS},
        rabbitmq.AMQP_MARKED,
        refusals=rabbitmq.AMQP_REFUSALS,
        temporary_topics=False,
        subscriptions="none",
    ),
    Row("artemis-qpid", "artemis", _QPID, "amqp", "amqp", {}, QPID, module="proton", subscriptions="shared"),
    Row(
        "artemis-core",
        "artemis",
        _CORE,
        "tcp",
        "amqp",
        {},
        artemis.CORE,
        artemis.CORE_LOSSES,
        module="proton",
        subscriptions="own",
    ),
    Row(
        "artemis-openwire",
        "artemis",
        _OPENWIRE,
        "tcp",
        "amqp",
        {},
        artemis.OPENWIRE,
        artemis.OPENWIRE_LOSSES,
        NO_DELAY,
        module="proton",
        subscriptions="own",
    ),
    Row(
        "activemq-qpid",
        "activemq",
        _QPID,
        "amqp",
        "amqp",
        {},
        (*QPID, *activemq.QPID),
        activemq.QPID_LOSSES,
        module="proton",
    ),
    Row(
        "brokerj-qpid",
        "brokerj",
        _QPID_BROKERJ,
        "amqp",
        "amqp",
        {"topic_prefix": "amq.topic/", **_GROUPS, **_DELAYS},
        (*QPID, *brokerj.QPID),
        module="proton",
        misses_delayed=True,
        java_temporary=("queue",),
        subscriptions="shared",
    ),
    Row(
        "rabbitmq-qpid",
        "rabbitmq",
        _QPID_RABBITMQ,
        "amqp",
        "amqp",
        {**_GROUPS, **_DELAYS},
        (*QPID, *rabbitmq.QPID),
        refusals=rabbitmq.QPID_REFUSALS,
        module="proton",
        java_temporary=(),
        queue_address="/queues/",
        subscriptions="none",
    ),
    Row(
        "activemq-openwire",
        "activemq",
        _OPENWIRE,
        "tcp",
        "amqp",
        {},
        activemq.OPENWIRE,
        activemq.OPENWIRE_LOSSES,
        NO_DELAY,
        module="proton",
    ),
    Row(
        "artemis-core-stomp",
        "artemis",
        _CORE,
        "tcp",
        "stomp",
        {},
        stomp.CORE,
        stomp.CORE_LOSSES,
        subscriptions="shared",
    ),
    Row(
        "artemis-openwire-stomp",
        "artemis",
        _OPENWIRE,
        "tcp",
        "stomp",
        {},
        stomp.OPENWIRE,
        stomp.OPENWIRE_LOSSES,
        NO_DELAY,
    ),
    Row(
        "activemq-openwire-stomp",
        "activemq",
        _OPENWIRE,
        "tcp",
        "stomp",
        {},
        stomp.CLASSIC,
        refusals=NO_DELAY,
    ),
    Row(
        "pulsar-starlight",
        "pulsar",
        _STARLIGHT,
        "pulsar",
        "pulsar",
        _GROUPS,
        pulsar.STARLIGHT,
        refusals=pulsar.STARLIGHT_REFUSALS,
        module="_pulsar",
        has_rest=True,
        subscriptions="shared",
    ),
)
