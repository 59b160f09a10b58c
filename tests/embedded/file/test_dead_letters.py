"""Rejected and expired messages that move to the queues that a subscription names, in a file."""

import time
from pathlib import Path
from typing import Any

import pytest

import jmsbridge_embedded
from jmsbridge.spi import DEAD_LETTER_REASON, Address, Link, Outcome, SubscriptionRefused
from jmsbridge.spi.envelope import Interest
from jmsbridge.testing.suite.support import eventually
from tests.embedded.file.conftest import Crew
from tests.embedded.file.worker import FIRST, Answer, Inbox, connect, message, receive, send

LATE = Address("late")
NEWS = Address("news", True)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _consumer(link: Link, address: Address = FIRST, **interest: Any) -> Any:
    return link.channel(False).subscribe(Interest(address=address, **interest), Inbox())


def _wait_for(link: Link, address: Address = LATE) -> str:
    """The body of the next message of a queue."""
    box = Inbox()
    channel = link.channel(False)
    channel.subscribe(Interest(address=address), box).grant(1)
    found = box.wait(1)[0].envelope
    assert (found.properties[DEAD_LETTER_REASON], found.expiration) == ("expired", 0)
    return str(found.body)


@pytest.mark.parametrize("address", [FIRST, NEWS])
@pytest.mark.parametrize("size", [10, 10_000])
def test_messages_that_expire_without_credit_are_moved(path: Path, address: Address, size: int) -> None:
    link = connect(path)
    _consumer(link, address, expired="late")
    body = "x" * size
    send(link.channel(False), message(body, address, expiration=_now() + 50), message("immortal", address))
    assert _wait_for(link) == body
    link.close()


def test_a_queue_that_another_process_consumes_is_left_to_it(crew: Crew) -> None:
    link = connect(crew.path)
    crew.start("expire")
    crew.wait(lambda: crew.words("ready"))
    send(link.channel(False), *(message(str(number), expiration=_now() + 50 + 100 * number) for number in range(20)))
    crew.wait(lambda: _waiting(link) == 20)
    link.close()


def _waiting(link: Any) -> int:
    return int(link.depth(LATE))


def test_more_expired_messages_than_one_sweep_handles_are_moved_soon(path: Path) -> None:
    link = connect(path)
    _consumer(link, expired="late")
    end = _now() + 8000  # milliseconds: what has expired when it is sent is not moved
    send(link.channel(False), *(message(str(number), expiration=end) for number in range(5000)))
    eventually(lambda: _waiting(link) == 5000, 30.0)
    assert [arrival.envelope.body for arrival in receive(link, LATE)] == [str(number) for number in range(5000)]
    link.close()


@pytest.mark.parametrize("how", ["RELEASED", "FAILED", "closed", "retired", "channel closed", "rolled back", "cut"])
def test_a_message_that_expires_while_it_is_held_is_moved_when_it_is_returned(path: Path, how: str) -> None:
    link = connect(path)
    channel, box = link.channel(how == "rolled back"), Inbox()
    subscription: Any = channel.subscribe(Interest(address=FIRST, expired="late"), box)
    end = _now() + 500
    send(link.channel(False), message("mortal", expiration=end))
    subscription.grant(1)
    tokens = [arrival.token for arrival in box.wait(1)]
    eventually(lambda: _now() > end)
    if how == "cut":
        jmsbridge_embedded.cut(path=str(path))
        link = connect(path)
    elif how in ("closed", "channel closed"):
        (subscription if how == "closed" else channel).close()
    elif how == "rolled back":
        subscription.settle(tokens, Outcome.ACCEPTED)
        subscription.close()
        answer = Answer()
        channel.rollback(answer)
        answer.wait()
    else:
        if how == "retired":
            subscription.retire()
        answer = Answer()
        subscription.settle(tokens, Outcome.FAILED if how == "FAILED" else Outcome.RELEASED, answer)
        answer.wait()
    assert _wait_for(link) == "mortal"
    assert receive(link) == []
    link.close()


def test_messages_returned_after_the_end_of_their_subscription_are_dropped(path: Path) -> None:
    link = connect(path)
    channel, box = link.channel(False), Inbox()
    subscription: Any = channel.subscribe(Interest(address=NEWS, expired="late"), box)
    end = _now() + 500
    send(link.channel(False), message("mortal", NEWS, expiration=end))
    subscription.grant(1)
    box.wait(1)
    subscription.retire()
    eventually(lambda: _now() > end)
    subscription.close()
    assert receive(link, LATE) == []
    link.close()


@pytest.mark.parametrize("field", ["dead_letters", "expired"])
def test_a_name_that_no_file_can_hold_is_refused_at_once(path: Path, field: str) -> None:
    link = connect(path)
    with pytest.raises(SubscriptionRefused, match="surrogate"):
        _consumer(link, FIRST, **{field: "half \ud800"})
    link.close()
