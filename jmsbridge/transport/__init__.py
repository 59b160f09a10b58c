"""Parts for networked backends, which import what they need; only they, the command line and tests use sockets.

``network`` runs everything that touches a socket: ``io_thread`` with ``loop``, ``stream``, ``tls``; ``link_life`` makes
requests with a deadline and answers all tickets when the link ends; ``requests`` does both over one socket, for brokers
that answer in order; ``diagnosis`` says why a connection failed. ``deliveries`` is for messages that are received:
``commands`` passes verbs to the I/O thread, ``credit`` and ``polling`` keep the credit, the rest settles, expires and
dead-letters. ``queued_channel`` is the frame of a channel, ``tickets`` and ``numbered_answers`` answer sends,
``typed_values`` is for bodies and properties in protocols without types, ``backend`` for what a networked backend
declares.
"""

__all__: list[str] = []
