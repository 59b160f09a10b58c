"""The SPI's Admin over AMQP 1.0, which itself has no administration: by management messages on Artemis."""

from jmsbridge.spi import Address, NotSupported
from jmsbridge.transport.artemis.administration import ArtemisAdmin
from jmsbridge.transport.artemis.operations import Request
from jmsbridge.transport.network.link_life import Done
from jmsbridge_amqp.administration.requests import Requests
from jmsbridge_amqp.facts import LinkFacts
from jmsbridge_amqp.receiving.artemis_selectors import for_artemis
from jmsbridge_amqp.receiving.strict_selectors import strict

__all__ = ["AmqpAdmin"]


class AmqpAdmin(ArtemisAdmin):
    """``Link`` extends it. Any thread."""

    _facts: LinkFacts
    """There once the link is connected."""

    def _check_administration(self) -> None:
        self._known()

    def _check_name(self, address: Address) -> None:
        self._known().product.check(address)

    def _filter(self, selector: str) -> str:
        """As for a topic: the management, too, wants the header names of Artemis's core protocol."""
        return for_artemis(strict(selector), topic=True, no_local=False)

    @property
    def _client_id(self) -> str | None:
        return self._known().client_id

    def _request(self, requests: list[Request], patience: float, done: Done) -> None:
        Requests(self._facts, Address(self._facts.product.management), requests, patience, done)

    def _known(self) -> LinkFacts:
        """The link's facts; NotSupported if this broker has no administration over AMQP 1.0."""
        facts = self._facts
        facts.driver.life.check()
        if not facts.product.management:
            raise NotSupported(f"{facts.driver.life.broker} has no administration over AMQP 1.0; use its own console")
        return facts
