"""A model of RabbitMQ made of dictionaries, which answers topology conversations."""

from types import SimpleNamespace
from typing import Any

from jmsbridge_rabbitmq.broker.conversations import Conversation, Pause
from jmsbridge_rabbitmq.protocol.errors import ChannelException

__all__ = ["World"]


class World:
    """Queues, exchanges and bindings, with RabbitMQ's rules as far as the conversations need them.

    ``default`` is the type of queues that are declared without one.
    """

    def __init__(self, default: str = "classic") -> None:
        self.default = default
        self.queues: dict[str, dict[str, Any]] = {}
        self.exchanges: dict[str, dict[str, Any]] = {}
        self.bindings: set[tuple[str, str, str]] = set()
        self.consumers: dict[str, int] = {}
        self.asked: list[str] = []

    def hold(self, conversation: Conversation) -> Any:
        """Answer a conversation; return its result."""
        answer: Any = None
        no: ChannelException | None = None
        try:
            while True:
                ask = conversation.send(answer) if no is None else conversation.throw(no)
                answer = no = None
                if isinstance(ask, Pause):
                    continue
                self.asked.append(ask.method)
                try:
                    answer = getattr(self, ask.method)(**ask.arguments)
                except ChannelException as refused:
                    no = refused
        except StopIteration as end:
            return end.value

    def queue_declare(self, queue: str, passive: bool = False, **kind: Any) -> Any:
        if queue not in self.queues:
            if passive:
                raise ChannelException(404, f"NOT_FOUND - no queue '{queue}' in vhost '/'")
            arguments = kind.get("arguments") or {}
            made = arguments.get("x-queue-type", self.default)
            for name, owner in (("x-delivery-limit", "quorum"), ("x-max-age", "stream")):
                if made != owner and name in arguments:
                    where = f"for queue '{queue}' in vhost '/' of queue type rabbit_{made}_queue"
                    raise ChannelException(406, f"PRECONDITION_FAILED - invalid arg '{name}' {where}")
            self.queues[queue] = kind
        if not passive:
            _compare(self.queues[queue].get("arguments") or {}, kind.get("arguments") or {}, f"queue '{queue}'")
        return SimpleNamespace(queue=queue, message_count=0, consumer_count=self.consumers.get(queue, 0))

    def queue_delete(self, queue: str, if_unused: bool) -> None:
        if if_unused and self.consumers.get(queue):
            raise ChannelException(406, f"PRECONDITION_FAILED - queue '{queue}' in vhost '/' in use")
        self.queues.pop(queue, None)
        for binding in [each for each in self.bindings if each[0] == queue]:
            self.bindings.discard(binding)
            if self.exchanges[binding[1]].get("auto_delete") and not any(
                each[1] == binding[1] for each in self.bindings
            ):
                del self.exchanges[binding[1]]

    def queue_bind(self, queue: str, exchange: str, routing_key: str) -> None:
        if exchange not in self.exchanges:
            raise ChannelException(404, f"NOT_FOUND - no exchange '{exchange}' in vhost '/'")
        self.bindings.add((queue, exchange, routing_key))

    def exchange_declare(self, exchange: str, exchange_type: str, passive: bool = False, **kind: Any) -> None:
        if exchange not in self.exchanges:
            if passive:
                raise ChannelException(404, f"NOT_FOUND - no exchange '{exchange}' in vhost '/'")
            self.exchanges[exchange] = {"type": exchange_type, **kind}
        present = self.exchanges[exchange]
        if present["type"] != exchange_type:
            raise ChannelException(406, f"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '{exchange}'")
        if not passive:
            _compare(present.get("arguments") or {}, kind.get("arguments") or {}, f"exchange '{exchange}'")

    def exchange_delete(self, exchange: str) -> None:
        self.exchanges.pop(exchange, None)


def _compare(present: dict[str, Any], asked: dict[str, Any], what: str) -> None:
    for name in sorted({*present, *asked} - {"x-max-age"}, key=lambda each: each == "x-queue-type"):
        if present.get(name) != asked.get(name):
            value = present.get(name)
            shown = str(value).lower() if isinstance(value, bool) else value
            current = "none" if value is None else f"the value '{shown}' of type '{_type_of(value)}'"
            if value is not None and asked.get(name) is not None:
                current = f"'{shown}'"
            where = f"inequivalent arg '{name}' for {what} in vhost '/'"
            text = f"PRECONDITION_FAILED - {where}: received {asked.get(name)} but current is {current}"
            raise ChannelException(406, text[:255])


def _type_of(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "signedint" if isinstance(value, int) else "longstr"
