from typing import Annotated

from shop import Order, app

from jmsbridge.app import Property


@app.listener("unchecked", selector="region = 'north'", send_to="orders")
def check(order: Order, region: Annotated[str, Property("region")]) -> Order:
    if not order.article:
        raise ValueError(f"order {order.number} of {region} has no article")
    return order
