"""Turns an interest into the source of a receiver, or says why this broker cannot do it. From any thread."""

from jmsbridge.spi import Interest, Mode, Native, NotSupported
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.receiving.artemis_selectors import for_artemis
from jmsbridge_amqp.receiving.group_sequences import with_zero_sequences
from jmsbridge_amqp.receiving.receiver import Source
from jmsbridge_amqp.receiving.strict_selectors import strict

__all__ = ["source_for"]


def source_for(interest: Interest, facts: LinkFacts) -> Source:
    """The source of a receiver; ``NotSupported`` names what the broker lacks."""
    facts.product.check(interest.address)
    if interest.key is not None:
        facts.product.check_key(interest.key, facts.client_id)
    for needed, what in _needs(interest):
        if needed not in facts.native:
            raise NotSupported(f"{facts.driver.life.broker} has no {what} over AMQP 1.0 ({interest.address})")
    selector = _selector(interest, facts)
    source = Source(interest, facts.naming.text(interest.address), facts.names.take(interest), selector)
    source.is_global = interest.shared and not facts.client_id
    return source


def _selector(interest: Interest, facts: LinkFacts) -> str | None:
    """The selector as this broker has to have it."""
    if interest.selector is None or not interest.select:
        return None
    selector = strict(interest.selector)
    if facts.product.zero_sequences:
        selector = with_zero_sequences(selector)
    if facts.product.own_selectors:
        selector = for_artemis(selector, topic=interest.address.topic, no_local=interest.no_local)
    return selector


def _needs(interest: Interest) -> list[tuple[Native, str]]:
    needs = []
    if interest.mode is Mode.BROWSE:
        needs.append((Native.BROWSE, "browsers"))
    if interest.shared:
        shared = Native.SHARED_DURABLE if interest.durable else Native.SHARED
        needs.append((shared, "shared subscriptions"))
    elif interest.durable:
        needs.append((Native.DURABLE, "durable subscriptions"))
    if interest.selector is not None and interest.select:
        selects = Native.TOPIC_SELECTORS if interest.address.topic else Native.QUEUE_SELECTORS
        needs.append((selects, "selectors"))
    return needs
