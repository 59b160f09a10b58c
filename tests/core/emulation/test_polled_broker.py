"""Selectors on queues of a polled broker, where a consumer that releases a message is the first to get it again."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from jmsbridge.spi import Arrival, Channel, Endpoint, Inbox, Interest, Link, LinkEvents, Outcome, Subscription, Ticket
from jmsbridge.testing.suite.support import run_thread, text_of
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from tests.core.emulation.support import QUEUE, Broker, select, send, texts
from tests.suites.masked.masked import MaskedBackend


class _PolledBackend(MaskedBackend):
    """A consumer gets the messages that it releases again, as long as it has credit."""

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        link: Any = super().open(endpoint, options, events)
        open_channel = link.channel

        def channel(transacted: bool) -> Channel:
            made: Any = open_channel(transacted)
            subscribe = made.subscribe

            def polling(interest: Interest, inbox: Inbox) -> Subscription:
                counted = _CountedInbox(inbox)
                return _PollingSubscription(subscribe(interest, counted), counted)

            made.subscribe = polling
            return made  # type: ignore[no-any-return]

        link.channel = channel
        return link  # type: ignore[no-any-return]


class _CountedInbox:
    """Records the remaining credit and the arrivals."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.put_again = inbox.put_again
        self.credit = 0
        self.arrivals: dict[int, Arrival] = {}

    def put(self, arrival: Arrival) -> None:
        self.credit -= 1
        self.arrivals[id(arrival.token)] = arrival
        self._inbox.put(arrival)


class _PollingSubscription:
    def __init__(self, inner: Any, inbox: _CountedInbox) -> None:
        self._inner = inner
        self._inbox = inbox
        self.native = inner.native
        self.retire = inner.retire
        self.close = inner.close

    def grant(self, count: int) -> None:
        self._inbox.credit += count
        self._inner.grant(count)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        released = []
        for token in tokens:
            if outcome is Outcome.RELEASED and self._inbox.credit > 0:
                self._inbox.put(self._inbox.arrivals[id(token)])
            else:
                released.append(token)
        self._inner.settle(released, outcome, ticket, failures)

    def drain(self, ticket: Ticket) -> None:
        self._inner.drain(ticket)
        self._inbox.credit = 0


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker that is polled."""
    made = Broker()
    made.backend = _PolledBackend(made.name, NATIVE)
    with made:
        yield made


@pytest.mark.parametrize("prefetch", [0, 1, 250])
def test_a_released_message_reaches_the_consumer_that_selects_it(broker: Broker, prefetch: int) -> None:
    """Although another consumer, whose selector does not match, waits for messages all the time."""
    wrong = select(broker.session(prefetch=prefetch), "red")
    waiting = run_thread(lambda: texts(wrong, 1, timeout=30))
    session = broker.session()
    blue = [f"blue-{number}" for number in range(5)]
    send(session, *blue, colour="blue")
    assert sorted(texts(select(session, "blue"), 5, timeout=15)) == blue
    send(session, "red", colour="red")
    assert waiting.result(30) == ["red"]


def test_receive_no_wait_finds_messages_while_the_credit_is_drained(broker: Broker) -> None:
    """Also between a release and the next automatic poll of the consumer."""
    session = broker.session(prefetch=10)
    consumer = select(session, "red")
    send(session, "grey")
    inbox = consumer._receiver.inbox
    for number in range(5):
        while not inbox._credit_suspended:
            consumer.receive(timeout=0.01)
        send(session, str(number), colour="red")
        assert text_of(consumer.receive_no_wait()) == str(number)
    consumer.close()
    assert texts(session.create_consumer(QUEUE), 1) == ["grey"]
