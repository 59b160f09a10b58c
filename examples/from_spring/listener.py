from shop import Order, app


@app.listener("orders", concurrency=4)
def on_order(order: Order) -> None:
    print(f"order {order.number}: {order.article}", flush=True)
