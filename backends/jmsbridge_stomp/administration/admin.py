"""The SPI's Admin over STOMP, which itself has no administration: by management messages on Artemis."""

from jmsbridge.spi import Address, Endpoint, NotSupported
from jmsbridge.transport.artemis.administration import ArtemisAdmin
from jmsbridge.transport.artemis.operations import Request
from jmsbridge.transport.network.link_life import Done
from jmsbridge_stomp.administration.requests import Requests
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.selecting.rewriting import rewritten

__all__ = ["StompAdmin"]


class StompAdmin(ArtemisAdmin):
    """``Link`` extends it. Any thread."""

    endpoint: Endpoint
    _facts: LinkFacts
    """There once the link is connected."""

    def _check_administration(self) -> None:
        self._known()

    def _check_name(self, address: Address) -> None:
        self._known().product.dialect.check(address)

    def _filter(self, selector: str) -> str:
        return rewritten(selector, self._known().product.dialect)

    @property
    def _client_id(self) -> str | None:
        return self.endpoint.client_id

    def _request(self, requests: list[Request], patience: float, done: Done) -> None:
        Requests(self._facts, requests, patience, done)

    def _known(self) -> LinkFacts:
        """The link's facts; NotSupported if this broker has no administration over STOMP."""
        facts = self._facts
        facts.sockets.life.check()
        if not facts.product.managed:
            raise NotSupported(f"{self.broker} has no administration over STOMP; use its own console")
        return facts
