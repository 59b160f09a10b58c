from shop import Order, Quote, converter

from jmsbridge import Template

with Template(converter=converter) as template:
    quote = template.request("quotes", Order(3, "ink"), Quote, timeout=30)
    print(f"quote {quote.number}: {quote.price}")
