"""The link names of subscriptions are those of Qpid JMS."""

import pytest

from jmsbridge.spi import Address, AddressRefused, Interest, SubscriptionRefused
from jmsbridge_amqp.receiving.subscription_names import SubscriptionNames, first_name

TOPIC = Address("news", topic=True)


def _interest(*, durable: bool, shared: bool) -> Interest:
    return Interest(address=TOPIC, key="sub", durable=durable, shared=shared)


@pytest.mark.parametrize(
    ("client_id", "durable", "expected"),
    [
        ("c", True, ["sub", "sub|2", "sub|3"]),
        (None, True, ["sub|global", "sub|global2", "sub|global3"]),
        ("c", False, ["sub|volatile1", "sub|volatile2", "sub|volatile3"]),
        (None, False, ["sub|global-volatile1", "sub|global-volatile2", "sub|global-volatile3"]),
    ],
)
def test_each_consumer_of_a_shared_subscription_has_the_next_number(
    client_id: str | None, durable: bool, expected: list[str]
) -> None:
    names = SubscriptionNames(client_id)
    interest = _interest(durable=durable, shared=True)
    assert [names.take(interest) for _ in range(3)] == expected


def test_numbers_begin_again_after_the_last_consumer() -> None:
    names, interest = SubscriptionNames("c"), _interest(durable=True, shared=True)
    assert [names.take(interest), names.take(interest)] == ["sub", "sub|2"]
    names.release(interest)
    assert names.take(interest) == "sub|3"
    names.release(interest)
    names.release(interest)
    assert names.take(interest) == "sub"


def test_an_unshared_subscription_has_one_name_and_one_consumer() -> None:
    names, interest = SubscriptionNames("c"), _interest(durable=True, shared=False)
    assert names.take(interest) == "sub"
    assert names.is_active("sub", durable=True)
    for shared in (False, True):
        with pytest.raises(SubscriptionRefused, match="has a consumer; close"):
            names.take(_interest(durable=True, shared=shared))
    names.release(interest)
    assert not names.is_active("sub", durable=True)
    assert names.take(interest) == "sub"
    assert names.take(Interest(address=TOPIC)) is None


def test_a_bar_in_the_name_is_refused() -> None:
    with pytest.raises(AddressRefused, match="ends the name"):
        first_name("a|b", "c", durable=True)


def test_consumers_of_a_shared_subscription_agree_on_what_it_is() -> None:
    names, interest = SubscriptionNames("c"), _interest(durable=False, shared=True)
    names.take(interest)
    other = Interest(address=Address("other", topic=True), key="sub", shared=True)
    with pytest.raises(SubscriptionRefused, match="another topic or selector"):
        names.take(other)
    names.release(interest)
    assert names.take(other) == "sub|volatile1"


def test_a_shared_subscription_waits_while_the_broker_may_delete_the_last_one() -> None:
    names, interest = SubscriptionNames(None, pause=3600), _interest(durable=False, shared=True)
    names.take(interest)
    names.take(interest)
    names.release(interest)
    assert names.pause(interest) == 0  # the other consumer keeps the queue
    names.release(interest)
    assert 3000 < names.pause(interest) <= 3600
    assert names.pause(_interest(durable=True, shared=True)) == 0
