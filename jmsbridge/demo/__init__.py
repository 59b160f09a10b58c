"""A demonstration of the main features: ``make demo`` or ``python -m jmsbridge.demo [FOLDER]``.

Text files are sent line by line through a queue and a topic, by several producers and consumers in threads, and the
result is compared with the files, byte for byte. ``files`` finds the text, ``routes`` has the scenarios, ``report``
prints the table.
"""

__all__: list[str] = []
