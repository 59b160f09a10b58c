from dataclasses import dataclass

from jmsbridge.app import App


@dataclass
class Order:
    number: int
    article: str


@dataclass
class Receipt:
    number: int


app = App()  # the target is in $JMSBRIDGE_URL


@app.listener("orders", send_to="receipts")
async def on_order(order: Order) -> Receipt:
    return Receipt(order.number)
