"""Names that the broker accepts, and names that are refused."""

import base64

import pytest

from jmsbridge.spi import AddressRefused, ClientIdRefused
from jmsbridge_rabbitmq.broker.conversations import Ask
from jmsbridge_rabbitmq.connection.options import RabbitOptions, WithoutTls
from jmsbridge_rabbitmq.protocol.names import DIRECT_REPLY, check, check_arguments, check_client_id, check_new

NODE = b"reply@1"
TOKEN = base64.b64encode(bytes((131, 88, 118, 0, len(NODE))) + NODE + bytes(12)).decode()
SMALL = base64.b64encode(bytes((131, 88, 119, len(NODE))) + NODE + bytes(12)).decode()
OLD = base64.b64encode(bytes((131, 103, 100, 0, len(NODE))) + NODE + bytes(9)).decode()


@pytest.mark.parametrize("name", ["a", "ü" * 127, "a\0b", "#.*", "amq.gen-x", "x" * 255])
def test_names_that_amqp_can_carry(name: str) -> None:
    check(name)
    check_arguments(Ask("queue_bind", {"queue": name, "exchange": name, "routing_key": ""}).arguments)
    assert len(name.encode()) <= 255


@pytest.mark.parametrize("name", ["", "x" * 256, "ü" * 128, "\ud800", "a\nb", "a\r"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(AddressRefused, match="1 to 255 bytes"):
        check(name)
    with pytest.raises(AddressRefused):
        check_arguments({"queue": name, "passive": True})


@pytest.mark.parametrize("token", [TOKEN, SMALL, OLD])
def test_names_for_direct_replies(token: str) -> None:
    check(f"{DIRECT_REPLY}.{token}.key==")
    for wrong in (
        "",
        ".",
        token,
        f"{token}.",
        f"{token}.a.b",
        f".{token}",
        f"A{token}.key",
        f"{token[:-4]}.key",
        "g1h2.k",
    ):
        with pytest.raises(AddressRefused, match="temporary queue"):
            check(f"{DIRECT_REPLY}.{wrong}")
    with pytest.raises(AddressRefused):
        check(DIRECT_REPLY)


def test_client_ids() -> None:
    check_client_id("x" * 244)
    for wrong in ("x" * 245, "\ud800", "a\nb"):
        with pytest.raises(ClientIdRefused, match="client id"):
            check_client_id(wrong)


def test_generated_names_of_queues() -> None:
    for right in ("a", "amq", "amqp.x"):
        check_new(right)
    for wrong, why in (("amq.foo", "begin with amq"), ("x" * 256, "1 to 255 bytes"), ("", "1 to 255 bytes")):
        with pytest.raises(AddressRefused, match=why):
            check_new(wrong)


@pytest.mark.parametrize("kind", [RabbitOptions, WithoutTls])
@pytest.mark.parametrize("wrong", ["amq.foo", "x" * 300, "a\nb"])
def test_names_that_cannot_be_a_dead_letter_queue(kind: type[RabbitOptions], wrong: str) -> None:
    with pytest.raises(ValueError, match="option 'dead_letter_queue': "):
        kind(dead_letter_queue=wrong)
    assert not kind(dead_letter_queue="").dead_letter_queue
