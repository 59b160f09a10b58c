from dataclasses import dataclass

from jmsbridge.app import App, JsonConverter


@dataclass
class Order:
    number: int
    article: str


@dataclass
class Quote:
    number: int
    price: float


converter = JsonConverter({"Order": Order, "Quote": Quote})
app = App(converter=converter)  # the target is in $JMSBRIDGE_URL
