"""Every error condition of AMQP 1.0 at every place where a broker may say it: which error it becomes, by a table."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ChannelLost,
    ClientIdRefused,
    ConnectFailed,
    LinkLost,
    NotSupported,
    SendRefused,
)
from jmsbridge.testing.suite.contract.support import envelope, send, subscribe
from tests.amqp.faults.support import QUEUE, Opened, sent_async
from tests.amqp.peer.script import Condition, Outcome, accept

Open = Callable[..., Opened]
Table = dict[str, type[BackendError]]

CONDITIONS = (
    *(
        f"amqp:{name}"
        for name in (
            "internal-error", "not-found", "unauthorized-access", "decode-error", "resource-limit-exceeded",
            "not-allowed", "invalid-field", "not-implemented", "resource-locked", "precondition-failed",
            "resource-deleted", "illegal-state", "frame-size-too-small",
        )
    ),
    *(f"amqp:connection:{name}" for name in ("forced", "framing-error")),
    *(f"amqp:session:{name}" for name in ("window-violation", "errant-link", "handle-in-use", "unattached-handle")),
    *(
        f"amqp:link:{name}"
        for name in ("detach-forced", "transfer-limit-exceeded", "message-size-exceeded", "redirect", "stolen")
    ),
    *(f"amqp:transaction:{name}" for name in ("unknown-id", "rollback", "timeout")),
    "failed",
    "vendor:odd",
)  # fmt: skip
"""Those of the specification (but the redirect of a connection, which is followed), and two that are none."""

ATTACHING: Table = {
    "amqp:unauthorized-access": AccessDenied,
    "amqp:not-implemented": NotSupported,
    "amqp:not-found": AddressRefused,
    "amqp:illegal-state": AddressRefused,
    "amqp:internal-error": AddressRefused,
    "amqp:invalid-field": AddressRefused,
}
SENDING: Table = {
    "amqp:unauthorized-access": AccessDenied,
    "amqp:not-found": AddressRefused,
    "amqp:precondition-failed": AddressRefused,
}
OPENING: Table = {
    "amqp:unauthorized-access": AuthenticationFailed,
    "amqp:not-allowed": AccessDenied,
    "amqp:not-found": AccessDenied,
}
ENDS_ONE_CONSUMER = {"amqp:not-found", "amqp:resource-deleted"}


def expected(table: Table, other: type[BackendError]) -> Table:
    """The table for every condition."""
    return {name: table.get(name, other) for name in CONDITIONS}


def said(error: BackendError | None, condition: str) -> BackendError:
    """An error that names the condition and the broker's words."""
    assert error is not None
    assert condition in str(error)
    assert "in its own words" in str(error)
    return error


def condition_of(name: str) -> Condition:
    return Condition(name, "in its own words")


def test_a_connection_refused(open_link: Open) -> None:
    found: Table = {}
    for name in CONDITIONS:
        with pytest.raises(BackendError) as caught:
            open_link({"connection": condition_of(name)})
        found[name] = type(caught.value)
        assert "in its own words" in str(caught.value)
    assert found == expected(OPENING, ConnectFailed)


def test_a_client_id_refused(open_link: Open) -> None:
    in_use = Condition("amqp:invalid-field", "in its own words", {"invalid-field": "container-id"})
    with pytest.raises(ClientIdRefused, match="'c' is in use"):
        open_link({"connection": in_use}, client_id="c")


def test_a_connection_closed(open_link: Open) -> None:
    for name in CONDITIONS:
        opened = open_link()
        opened.peer.do(lambda opened=opened, name=name: opened.peer.connection.close(condition_of(name)))  # type: ignore[misc]
        opened.events.wait(lambda log: log.losses)
        (lost,) = opened.events.losses
        assert isinstance(said(lost, name), LinkLost)


def test_a_session_ended(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    for number, name in enumerate(CONDITIONS, 1):
        channel = opened.link.channel(False)
        (answer,) = sent_async(channel, "1")
        opened.records.wait_sent(number)
        link = opened.records.wait_event("attach", number)
        opened.peer.do(lambda link=link, name=name: link.end_session(condition_of(name)))  # type: ignore[misc]
        doubt = said(answer.outcome(), name)
        assert isinstance(doubt, ChannelLost)
        assert doubt.in_doubt
        opened.events.wait(lambda log, number=number: len(log.channels) == number)  # type: ignore[misc]
        assert opened.events.channels[-1][0] is channel
        assert isinstance(said(opened.events.channels[-1][1], name), ChannelLost)
    assert opened.events.losses == []


@pytest.mark.parametrize("consumes", [True, False], ids=["consumer", "sender"])
def test_an_attach_refused(opened: Opened, *, consumes: bool) -> None:
    channel = opened.link.channel(False)
    found: Table = {}
    for name in CONDITIONS:
        opened.script.attach = lambda link, name=name: condition_of(name)  # type: ignore[misc]
        if consumes:
            with pytest.raises(BackendError) as caught:
                subscribe(channel, QUEUE)
            refused: BackendError = caught.value
        else:
            (answer,) = sent_async(channel, "1")
            refused = said(answer.outcome(), name)
        assert not refused.in_doubt
        found[name] = type(said(refused, name))
    assert found == expected(ATTACHING, BackendError)
    opened.script.attach = lambda link: "attach"
    send(channel, envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_a_sending_link_closed(open_link: Open) -> None:
    opened = open_link({"credit": 0})
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(False)
    found: Table = {}
    for number, name in enumerate(CONDITIONS, 1):
        written, waiting = sent_async(channel, "written", "waits for credit")
        link = opened.records.wait_event("attach", number)
        opened.peer.do(lambda link=link: link.grant(1))  # type: ignore[misc]
        opened.records.wait_sent(number)
        opened.peer.do(lambda link=link, name=name: link.close(condition_of(name)))  # type: ignore[misc]
        doubt, refused = said(written.outcome(), name), said(waiting.outcome(), name)
        assert isinstance(doubt, ChannelLost)
        assert (doubt.in_doubt, refused.in_doubt) == (True, False)
        found[name] = type(refused)
    assert found == expected(SENDING, SendRefused)
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_a_consuming_link_closed(opened: Opened) -> None:
    ended: dict[str, bool] = {}
    for name in CONDITIONS:
        address = Address(name.replace(":", "-"))
        subscription, _ = subscribe(opened.link.channel(False), address, 5)
        link = opened.peer.wait_link(address.name, receives=True)
        before = len(opened.events.subscriptions)
        opened.peer.do(lambda link=link, name=name: link.close(condition_of(name)))  # type: ignore[misc]
        opened.events.wait(lambda log: len(log.subscriptions) + len(log.channels) > len(ended))
        ended[name] = len(opened.events.subscriptions) > before
        reported: Any = (opened.events.subscriptions if ended[name] else opened.events.channels)[-1]
        said(reported[1], name)
        assert reported[0] is subscription or not ended[name]
    assert {name for name in ended if ended[name]} == ENDS_ONE_CONSUMER
    assert opened.events.losses == []


def test_a_message_rejected(opened: Opened) -> None:
    channel = opened.link.channel(False)
    found: Table = {}
    for name in CONDITIONS:
        opened.script.outcome = lambda sent, name=name: Outcome("rejected", condition_of(name))  # type: ignore[misc]
        (answer,) = sent_async(channel, "1")
        refused = said(answer.outcome(), name)
        assert not refused.in_doubt
        found[name] = type(refused)
    assert found == expected(SENDING, SendRefused)
    opened.script.outcome = lambda sent: accept
    send(channel, envelope(QUEUE))
