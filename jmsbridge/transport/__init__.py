"""Parts for networked backends, which import what they need; only they, the command line and tests use sockets.

``io_thread`` with ``loop`` runs everything that touches a socket; ``commands`` passes verbs to it. ``link_life`` makes
requests with a deadline and answers all tickets when the link ends; ``requests`` does both over one socket, for brokers
that answer in order. ``tls`` and ``diagnosis`` are for connecting. ``tickets``, ``numbered_answers``,
``acknowledgement_ranges``, ``credit``, ``polling``, ``copies`` and ``dead_letters`` are for messages in transit,
``typed_values`` for bodies and properties in protocols without types.
"""

__all__: list[str] = []
