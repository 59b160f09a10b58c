"""The main job, shown: ``make demo`` or ``python -m jmsbridge.demo [FOLDER]``.

Text files are sent line by line through a queue and a topic, by several producers and consumers in threads, and what
comes out is compared with what went in, byte for byte. ``files`` finds the text, ``queue_route``, ``topic_route`` and
``request_reply`` are one leg each, ``report`` prints the table.
"""

__all__: list[str] = []
