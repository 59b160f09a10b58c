"""Artemis's answers to management messages, as destinations and errors."""

from typing import Any

import pytest

from jmsbridge.spi import Address, AddressInUse, AddressRefused, BackendError, SelectorRefused
from jmsbridge.transport.artemis import operations
from jmsbridge.transport.artemis.operations import Reply

OK, REFUSED = True, False


@pytest.mark.parametrize(("text", "value"), [("[3]", 3), ("", None), ("[]", None), ('["a"]', "a"), ("[null]", None)])
def test_what_an_operation_returned(text: str, value: Any) -> None:
    assert operations.result(Reply(OK, text), "looking") == value


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("AMQ229067: Cannot find resource with name queue.nope", AddressRefused),
        ("AMQ229017: Queue nope does not exist", AddressRefused),
        ("AMQ229203: Address Does Not Exist: t3", AddressRefused),
        ("AMQ229025: Cannot delete queue q on binding q - it has consumers", AddressInUse),
        ("AMQ229205: Address news.x has bindings", AddressInUse),
        ("AMQ229020: Invalid filter: x =", SelectorRefused),
        ("AMQ229204: Address already exists: t2", operations.Refused),
        ("something else", operations.Refused),
    ],
)
def test_errors_by_their_codes(said: str, kind: type[BackendError]) -> None:
    with pytest.raises(kind, match="purging: Artemis refused it") as caught:
        operations.result(Reply(REFUSED, f'["{said}"]'), "purging")
    assert type(caught.value) is kind
    assert getattr(caught.value, "exists", False) is ("229204" in said)


def test_a_refusal_has_a_code_and_a_failure_of_the_broker_has_none() -> None:
    refused, failed = "AMQ229032: User: guest does not have permission", 'Cannot invoke "isAutoCreated()": "q" is null'
    assert [operations.has_code(Reply(False, f'["{text}"]')) for text in (refused, failed)] == [True, False]


def test_an_answer_without_the_mark_of_success_is_a_refusal() -> None:
    with pytest.raises(operations.Refused):
        operations.result(Reply(REFUSED, "[3]"), "purging")
    with pytest.raises(operations.Refused, match="no JSON"):
        operations.result(Reply(REFUSED, "no JSON"), "purging")


@pytest.mark.parametrize("value", [None, 3, "", "[]", "{}", "no JSON"])
def test_an_answer_that_is_no_list_is_an_error(value: Any) -> None:
    with pytest.raises(BackendError, match="not a list"):
        operations.rows(value)


def queue(name: str, address: str, **fields: str) -> dict[str, str]:
    return {
        "name": name, "address": address, "routingType": "MULTICAST", "messageCount": "2", "consumerCount": "1",
        "temporary": "false", "internalQueue": "false", **fields,
    }  # fmt: skip


def test_queues_of_topics_are_subscriptions() -> None:
    queues = [
        queue("my.id.a.b", "news"),
        queue("other.c", "news"),
        queue("d:global", "news"),
        queue("my.id.e:shared-volatile", "news", temporary="true"),
        queue("f:shared-volatile:global", "news", temporary="true"),
        queue("0d1", "news", temporary="true"),
        queue("$sys", "$sys", routingType="ANYCAST"),
        queue("x", "x", routingType="ANYCAST", internalQueue="true"),
        queue("jmsbridge-temp-queue-1", "jmsbridge-temp-queue-1", routingType="ANYCAST"),
    ]
    addresses = [
        {"name": "news", "routingTypes": '["MULTICAST"]', "temporary": "false"},
        {"name": "activemq.notifications", "routingTypes": '["MULTICAST"]', "temporary": "false"},
    ]
    found = operations.destinations(queues, addresses, {"other.c": 7}, "my.id")
    news = Address("news", topic=True)
    assert [(info.address, info.subscription, info.client_id, info.oldest) for info in found] == [
        (Address("jmsbridge-temp-queue-1", temporary=True), None, None, None),
        (news, None, None, None),
        (news, "a.b", "my.id", None),
        (news, "d", None, None),
        (news, "e", "my.id", None),
        (news, "f", None, None),
        (news, "other.c", None, 7),
    ]
