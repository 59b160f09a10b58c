"""The brokers that the compliance suite runs on, one row each."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import pytest

import jmsbridge_rabbitmq
from integration.lab.broker import Broker
from integration.lab.external import External
from jmsbridge import InvalidSelectorException
from jmsbridge.spi import Native, registry
from jmsbridge.testing.proxy import ProxiedHarness
from jmsbridge.testing.through_aio import ThroughAio

__all__ = ["TARGETS", "WITHOUT_SERVERS", "AioHarness", "Miss", "Target", "TargetHarness"]

WITHOUT_SERVERS = "not long and not server"
"""The marks that ``make test`` selects: of the suite on brokers, that is the contract level."""

if "rabbitmq" not in registry.names():  # in a checkout that is not installed there is no entry point
    registry.register("rabbitmq", jmsbridge_rabbitmq.backend)


class Miss(NamedTuple):
    """Why a case fails, and with which exception; ``always`` unless that depends on who is faster."""

    reason: str
    raises: type[BaseException] = AssertionError
    always: bool = True


@dataclass(frozen=True)
class Target:
    """One broker in one setting."""

    name: str
    """Its name in test ids and in the summary."""
    broker: str
    """Its name in ``integration.lab.table``."""
    options: dict[str, str] = field(default_factory=dict)
    scheme: str | None = None
    """The URL scheme, if it is not the broker's first one."""
    module: str | None = None
    """The module of its client library, where that may be missing."""
    misses: dict[str, Miss] = field(default_factory=dict)
    """The cases that fail on it, by the beginning of their ids."""
    has_rest: bool = False
    """Whether the option ``admin_url`` is the address of its REST interface."""
    long: bool = False
    """Whether cases above the contract level run only in ``make test-long``."""
    also: tuple[str, ...] = ()
    """Parts of the suite that run elsewhere, too, although it is ``long``."""
    aio: bool = False
    """Whether the cases run through ``jmsbridge.aio``."""


_ASCII = Miss(
    "the broker refuses a selector with letters beyond ASCII in a name, for Qpid JMS, too", InvalidSelectorException
)
_DIVISION = Miss("the broker divides integers as doubles, for Qpid JMS, too")
_BLOCKED = Miss(
    "a message whose group has a busy consumer holds up the messages behind it; Qpid JMS gets no others, either"
)
_APART = Miss("the broker keeps persistent and non-persistent messages apart, for Qpid JMS, too")
_SEARCH = Miss(
    "over AMQP 1.0 proton cannot ask whether a shared durable subscription without client id exists",
    pytest.fail.Exception,
)
_GROUP_ID = Miss("the broker's selectors do not know JMSXGroupID")
_IDS = Miss("the broker gives a message without id one that its sender does not see, for Qpid JMS, too")
_LATE = Miss("the broker publishes a delayed message on its topic when it is due, for Qpid JMS, too")
_COMMIT = Miss("the broker counts the delay of a message in a transaction from the commit, for Qpid JMS, too")
_EXPIRES = Miss("the broker moves what expires to its own queue, not to the consumer's")
_AHEAD = Miss("over STOMP, a prefetch is bytes on Artemis, and not kept where settlements come late")
_ENTRY = Miss("messages that were sent together are one entry, which goes to one consumer as a whole")
_ZERO = Miss(
    "over STOMP, an acknowledgement lets the next message come before the subscription ends: it returns behind others",
    always=False,
)
_KIND = Miss("over STOMP, the broker does not say whether a subscription is shared", pytest.fail.Exception)
_ON_TEXTS = Miss(
    "over STOMP, properties are texts: the broker cannot calculate with one or compare two, nor see some headers",
    InvalidSelectorException,
)


def _selecting_texts(target: str) -> dict[str, Miss]:
    """What is refused on queues where properties are texts."""
    on_queues = (
        *("arithmetic_with_other_types_is_unknown", "between_includes_both_ends", "follows_java_not_python", "headers"),
        *("identifiers", "integer_division", "java_arithmetic", "numbers_of_all_types_compare"),
        *("ordering_of_strings_matches_nothing", "precedence", "three_valued_logic"),
        "unlike_types_make_the_operation_false",
    )
    others = ("test_group_selects_like_any_property", "test_properties_selectors_may_name_any_jmsx_property")
    return dict.fromkeys((*(f"test_sel_{name}[{target}-queue]" for name in on_queues), *others), _ON_TEXTS)


TARGETS = (
    Target(
        "activemq-amqp",
        "activemq",
        module="proton",
        misses={
            "test_contract_expired_goes_to_the_queue_of_the_interest[activemq-amqp-True]": _EXPIRES,
            "test_sel_identifiers_of_any_script": _ASCII,
            "test_sel_integer_division": _DIVISION,
            "test_order_persistent_overtakes_nothing": _APART,
            "test_modes_delivery_mode_default_and_header": _APART,
            "test_headers_disabled_message_id_is_absent_or_valid": _IDS,
            "test_timing_delay_on_topic_goes_to_present_subscribers": _LATE,
            "test_tx_delay_counts_from_send": _COMMIT,
        },
    ),
    Target(
        "artemis-amqp",
        "artemis",
        module="proton",
        misses={
            "test_contract_expired_goes_to_the_queue_of_the_interest[artemis-amqp-True]": _EXPIRES,
            "test_group_waits_for_its_consumer": _BLOCKED,
            "test_sel_integer_division": _DIVISION,
        },
    ),
    Target(
        "artemis-aio",
        "artemis",
        module="proton",
        misses={"test_group_waits_for_its_consumer": _BLOCKED, "test_sel_integer_division": _DIVISION},
        aio=True,
        long=True,
    ),
    Target(
        "brokerj-amqp",
        "brokerj",
        {"topic_prefix": "amq.topic/"},
        module="proton",
        misses={
            "test_dur_unsubscribe_unknown_name": _SEARCH,
            "test_group_selects_like_any_property": _GROUP_ID,
            "test_properties_selectors_may_name_any_jmsx_property": _GROUP_ID,
            "test_sel_identifiers_of_any_script": _ASCII,
            "test_sel_integer_division": _DIVISION,
            "test_shared_durable_unsubscribe": _SEARCH,
        },
        long=True,
    ),
    Target(
        "activemq-stomp",
        "activemq",
        scheme="stomp",
        misses={
            "test_modes_delivery_mode_default_and_header": _APART,
            "test_order_persistent_overtakes_nothing": _APART,
            "test_timing_delay_on_topic_goes_to_present_subscribers": _LATE,
            "test_tx_delay_counts_from_send": _COMMIT,
            "test_ack_prefetch_zero_takes_on_receive": _ZERO,
            "test_recv_prefetch_bounds_what_a_consumer_holds": _AHEAD,
            "test_recv_prefetch_zero_fetches_singly": _ZERO,
            "test_sel_identifiers_of_any_script[activemq-stomp-queue]": _ASCII,
            **_selecting_texts("activemq-stomp"),
        },
    ),
    Target(
        "artemis-stomp",
        "artemis",
        scheme="stomp",
        misses={
            "test_ack_prefetch_zero_takes_on_receive": _ZERO,
            "test_contract_durable_stays_shared_or_unshared": _KIND,
            "test_group_waits_for_its_consumer": _BLOCKED,
            "test_recv_prefetch_bounds_what_a_consumer_holds": _AHEAD,
            "test_recv_prefetch_zero_fetches_singly": _ZERO,
            "test_shared_durable_and_unshared_durable_exclude_each_other": _KIND,
            **_selecting_texts("artemis-stomp"),
        },
    ),
    Target(
        "pulsar",
        "pulsar",
        {"single_address": "true", "broker_selectors": "true"},
        module="_pulsar",
        misses={"test_contract_shared_consumers_each_get_what_they_have_credit_for": _ENTRY},
        has_rest=True,
    ),
    Target(
        "pulsar-unfiltered",
        "pulsar",
        {"single_address": "true"},
        module="_pulsar",
        misses={"test_contract_shared_consumers_each_get_what_they_have_credit_for": _ENTRY},
        has_rest=True,
        long=True,
        also=("selectors",),
    ),
    Target("rabbitmq", "rabbitmq"),
    Target("rabbitmq-aio", "rabbitmq", aio=True),
    Target("rabbitmq-amqp", "rabbitmq", scheme="amqp", module="proton", long=True),
    Target(
        "rabbitmq-stomp",
        "rabbitmq",
        scheme="stomp",
        misses={"test_recv_prefetch_bounds_what_a_consumer_holds": _AHEAD},
        long=True,
    ),
    Target("rabbitmq-quorum", "rabbitmq", {"queue_type": "quorum"}, long=True),
    Target("rabbitmq3", "rabbitmq3", long=True),
)


class TargetHarness(ProxiedHarness):
    """A harness through a fault proxy, with a new dead-letter queue for each test."""

    _natives: ClassVar[dict[tuple[str, str], Native]] = {}

    def __init__(self, target: Target, broker: Broker | External) -> None:
        self._target = target
        self.dead_letters = self.name("dlq")
        options = {**target.options, "dead_letter_queue": self.dead_letters}
        if target.has_rest:
            options["admin_url"] = broker.url("http")
        url = broker.url(target.scheme)
        super().__init__(f"{url}?{'&'.join(f'{name}={value}' for name, value in options.items())}")
        self._key = (target.name, url)

    @property
    def native(self) -> Native:
        """The capabilities of a link, asked once in each process: many cases begin with the question."""
        if self._key not in self._natives:
            self._natives[self._key] = super().native
        return self._natives[self._key]

    @property
    def label(self) -> str:
        """The name of the target."""
        return self._target.name


class AioHarness(ThroughAio, TargetHarness):
    """The same, whose connections are those of ``jmsbridge.aio``."""
