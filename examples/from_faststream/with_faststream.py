import os
from dataclasses import dataclass

from faststream import FastStream
from faststream.rabbit import RabbitBroker


@dataclass
class Order:
    number: int
    article: str


@dataclass
class Receipt:
    number: int


broker = RabbitBroker(os.environ["RABBITMQ_URL"])
app = FastStream(broker)


@broker.subscriber("orders")
@broker.publisher("receipts")
async def on_order(order: Order) -> Receipt:
    return Receipt(order.number)
