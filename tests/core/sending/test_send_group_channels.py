"""Groups of sends over several channels at a time: sent together, committed one after the other, in their order."""

from typing import Any

import pytest

from jmsbridge import Topic
from jmsbridge.core.sending import grouped
from jmsbridge.errors import ResourceAllocationException
from jmsbridge.spi import BackendError, Channel, ChannelLost, SendRefused, TransactionRolledBack
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.scripted.link import ScriptedLink
from jmsbridge.testing.suite.support import Completions
from tests.core.conftest import Connect
from tests.core.sending.support import QUEUE, bodies, first_held, outcomes, send

CHANNELS = 3
TEXTS = [str(number) for number in range(100)]
GROUPS = [TEXTS[:40], TEXTS[40:80], TEXTS[80:]]
MARKED = "first"


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Three channels for groups of at most 40 messages, another one from 10 on; the numbers that were asked for."""
    opened: list[int] = []

    def open_one(link: ScriptedLink, number: int) -> Channel:
        opened.append(number)
        return link.channel(True)

    monkeypatch.setattr(ScriptedLink, "group_channels", CHANNELS, raising=False)
    monkeypatch.setattr(ScriptedLink, "group_channel", open_one, raising=False)
    monkeypatch.setattr(grouped, "_MOST", 40 * CHANNELS)
    monkeypatch.setattr(grouped, "_WORTH", 10)
    return opened


def three_on_their_way(backend: ScriptedBackend, connect_grouped: Connect, **options: Any) -> Completions:
    """All of TEXTS are sent in three groups, and the commit of the first is held."""
    session, listener = connect_grouped(**options).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *TEXTS)
    backend.release("commit")
    backend.script.wait_call("commit", 2)
    backend.script.wait_held("commit")
    assert backend.script.count("send") == 1 + len(TEXTS)
    assert listener.wait(1)
    return listener


def marks(*groups: str) -> list[str]:
    """What becomes of "first" and of the three groups; a mark for each."""
    return [MARKED, *(text + mark for group, mark in zip(GROUPS, groups, strict=True) for text in group)]


@rule("OR-1")
def test_groups_are_sent_together_and_committed_in_order(
    backend: ScriptedBackend, connect_grouped: Connect, opened: list[int]
) -> None:
    listener = three_on_their_way(backend, connect_grouped)
    assert (opened, bodies(backend)) == ([0, 1, 2], [MARKED])
    seen = [MARKED]
    for group in GROUPS:
        backend.script.wait_held("commit")
        assert bodies(backend) == seen
        backend.release("commit")
        seen += group
        assert outcomes(listener, len(seen)) == seen
    assert outcomes(listener, 101) == marks("", "", "")
    assert bodies(backend) == [MARKED, *TEXTS]


def test_few_messages_wait_for_the_first_channel(
    backend: ScriptedBackend, connect_grouped: Connect, opened: list[int]
) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"abc")
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 4) == [MARKED, *"abc"]
    assert opened == [0]


def test_messages_to_topics_are_sent_over_the_first_channel_only(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    """``no_local`` may depend on the connection."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    other = session.create_producer(Topic("news"))
    send(producer, listener, *TEXTS[:60])
    send(other, listener, *TEXTS[60:])
    backend.release("commit")
    backend.script.wait_call("commit", 2)
    backend.script.answer_inline("commit")
    backend.script.wait_held("commit")
    assert backend.script.count("send") == 1 + 60
    backend.release("commit")
    assert outcomes(listener, 101) == marks("", "", "")
    used = {call.detail.address.topic: call for call in backend.script.calls if call.verb == "send"}
    assert set(used) == {False, True}
    assert bodies(backend) == [MARKED, *TEXTS]


@rule("OR-1")
def test_a_group_that_was_rolled_back_is_sent_singly_before_the_next_is_committed(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    listener = three_on_their_way(backend, connect_grouped)

    def refuse(call: Call) -> None:
        if call.detail.body == "7":
            raise SendRefused("no")

    backend.script.before["send"] = refuse
    backend.script.answer_inline("commit")
    backend.script.release("commit", error=TransactionRolledBack("no"))
    expected = marks("", "", "")
    expected[1 + 7] = "7!"
    assert outcomes(listener, 101) == expected
    assert bodies(backend) == [MARKED, *(text for text in TEXTS if text != "7")]


def test_the_groups_behind_one_in_doubt_are_committed(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Its channel was lost alone."""
    listener = three_on_their_way(backend, connect_grouped)
    backend.script.answer_inline("commit")
    backend.link.channels[1].lose(ChannelLost("the broker closed it"))
    assert outcomes(listener, 101) == marks("?", "", "")
    assert bodies(backend) == [MARKED, *TEXTS[40:]]


def test_a_lost_link_puts_only_the_commit_in_doubt(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """What was sent behind it was not committed: it is sent again over the next link."""
    listener = three_on_their_way(backend, connect_grouped)
    backend.script.answer_inline("commit")
    backend.link.cut()
    assert outcomes(listener, 101) == marks("?", "", "")
    assert bodies(backend) == [MARKED, *TEXTS[40:]]


def test_close_gives_up_what_is_not_committed(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    session, listener = connect_grouped(close_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *TEXTS)
    backend.release("commit")
    backend.script.wait_call("commit", 2)
    backend.script.wait_held("commit")
    session.close()
    assert outcomes(listener, 101) == marks("?", "!", "!")
    assert isinstance(listener.events[-1][2], ResourceAllocationException)
    assert backend.script.count("close-channel") >= CHANNELS
    assert bodies(backend) == [MARKED]


def test_a_closed_producer_cancels_groups(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """All that was sent before it is given up: the group that is being committed is in doubt, the next was not sent."""
    session, listener = connect_grouped(close_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    other = session.create_producer(QUEUE)
    send(producer, listener, *TEXTS[:40])
    send(other, listener, *TEXTS[40:80])
    send(producer, listener, *TEXTS[80:])
    backend.release("commit")
    backend.script.wait_call("commit", 2)
    backend.script.wait_held("commit")
    other.close()
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 101) == marks("?", "!", "")
    assert bodies(backend) == [MARKED, *TEXTS[:40], *TEXTS[80:]]
    send(producer, listener, "next")
    assert outcomes(listener, 102)[-1] == "next"


def test_a_further_channel_that_cannot_be_had(
    backend: ScriptedBackend, connect_grouped: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker has no room for another connection: then there is one group at a time."""
    open_one = ScriptedLink.group_channel  # type: ignore[attr-defined]

    def first_only(link: ScriptedLink, number: int) -> Channel:
        if number:
            raise BackendError("too many connections")
        made: Channel = open_one(link, number)
        return made

    monkeypatch.setattr(ScriptedLink, "group_channel", first_only)
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *TEXTS)
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 101) == marks("", "", "")
    assert bodies(backend) == [MARKED, *TEXTS]
    groups = "".join(verb[0] for verb in backend.script.verbs() if verb in ("send", "commit"))
    assert groups == "sc" + "s" * 40 + "c" + "s" * 60 + "c"
