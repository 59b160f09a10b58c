"""An application of listeners, with types."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, assert_type

import jmsbridge
from jmsbridge import Message, Session
from jmsbridge.app import App, Decision, JsonConverter, Property


@dataclass
class Order:
    number: int


@dataclass
class Receipt:
    number: int


converter = JsonConverter({"Order": Order, "Receipt": Receipt})
app = App("embedded:", converter=converter, stop_timeout=5)


def decide(error: BaseException, message: Message) -> Decision:
    return Decision.DEAD_LETTER if isinstance(error, ValueError) else Decision.REDELIVER


@app.listener("orders", concurrency=(1, 4), on_error=decide, redelivery={"max_redeliveries": 2})
async def on_order(order: Order, message: Message, session: Session, tenant: Annotated[str, Property("t")]) -> Receipt:
    await asyncio.sleep(0)
    return Receipt(order.number)


def main(url: str) -> list[object]:
    app.start(url)
    with jmsbridge.context(url) as context:
        replies = context.create_queue("replies")
        message = converter.to_message(context, Order(7))
        producer = context.create_producer().set_jms_reply_to(replies).set_property("t", "acme")
        producer.send(context.create_queue("orders"), message)
        reply = context.create_consumer(replies).receive(timeout=5)
        assert reply is not None
        receipt = assert_type(converter.from_message(reply, Receipt), Receipt)
        late = assert_type(app.stop(), tuple[str, ...])
    return [receipt.number, len(late), app.status().state]
