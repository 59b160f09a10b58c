"""Administration by messages to a broker that does not answer, refuses, or answers nonsense."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import AccessDenied, Address, Admin, BackendError, LinkLost
from jmsbridge.testing.suite.contract.support import envelope, send
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.messages import text
from tests.amqp.peer.script import Condition, Outcome

MANAGEMENT = "activemq.management"


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    import jmsbridge.transport.artemis.administration

    monkeypatch.setattr(jmsbridge.transport.artemis.administration, "_PATIENCE", 0.5)
    monkeypatch.setattr(jmsbridge.transport.artemis.administration, "_LISTS_AGAIN", 0.5)


def admin_of(opened: Opened) -> Admin:
    assert isinstance(opened.link, Admin)
    return opened.link


@pytest.mark.usefixtures("patience")
def test_a_request_without_an_answer_ends_in_doubt_and_the_link_lives_on(opened: Opened) -> None:
    with pytest.raises(BackendError, match=r"no answer from Artemis .* within 0\.5 s") as caught:
        admin_of(opened).purge(QUEUE)
    assert caught.value.in_doubt
    send(opened.link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []


REFUSALS: dict[str, Callable[[Opened], None]] = {
    "the link": lambda opened: setattr(
        opened.script,
        "attach",
        lambda link: Condition("amqp:unauthorized-access") if link.address == MANAGEMENT else "attach",
    ),
    "the queue for answers": lambda opened: setattr(
        opened.script, "attach", lambda link: Condition("amqp:unauthorized-access") if link.receives else "attach"
    ),
    "the message": lambda opened: setattr(
        opened.script, "outcome", lambda sent: Outcome("rejected", Condition("failed", "no right"))
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_names_the_permission(opened: Opened, what: str) -> None:
    REFUSALS[what](opened)
    with pytest.raises(AccessDenied, match="permission 'manage'"):
        admin_of(opened).depth(QUEUE)
    assert opened.events.losses == []


def test_a_link_that_dies_meanwhile_is_in_doubt(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "die"
    with pytest.raises(LinkLost) as caught:
        admin_of(opened).depth(QUEUE)
    assert caught.value.in_doubt


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("body", [b"\x00\x53\x77\xa1\x05abc", text("no JSON")])
def test_an_answer_that_is_none_is_an_error(opened: Opened, body: Any) -> None:
    def answer(sent: Any) -> Outcome:
        *_, replies = (link for link in opened.records.of("attach") if link.receives)  # a list is asked for again
        replies.deliver(body)
        return Outcome()

    opened.script.outcome = answer
    with pytest.raises(BackendError) as caught:
        admin_of(opened).depth(Address("q"))
    assert "no answer" not in str(caught.value)
    assert opened.events.losses == []
