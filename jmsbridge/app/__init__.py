"""For those who write applications: functions that get messages as objects, and a process that serves them::

    from jmsbridge.app import App, JsonConverter

    app = App("shop", converter=JsonConverter({"Order": Order, "Receipt": Receipt}))

    @app.listener("orders", concurrency=4)
    def on_order(order: Order) -> Receipt:       # goes to the message's JMSReplyTo, in the same transaction
        return Receipt(order.number)

``jmsbridge run shop.listeners:app`` serves it; ``app.start()`` and ``app.stop()`` do in a program of your own.
"""

from jmsbridge.app.application import App
from jmsbridge.app.converters import ConversionException, Converter, JsonConverter
from jmsbridge.app.listeners import Decision
from jmsbridge.app.parameters import Property
from jmsbridge.app.status import ListenerStatus, Status

__all__ = [
    "App",
    "ConversionException",
    "Converter",
    "Decision",
    "JsonConverter",
    "ListenerStatus",
    "Property",
    "Status",
]
