from shop import Order, converter

from jmsbridge import Template

with Template(converter=converter) as template:
    template.send("orders", Order(1, "pen"))
    template.send("orders", Order(2, "paper"))
