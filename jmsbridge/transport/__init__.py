"""What networked backends share, and the one part of jmsbridge that knows sockets; a backend imports what it needs.

``io_thread`` with ``loop`` runs everything that touches a socket; ``commands`` brings verbs there. ``link_life`` asks
with a deadline, and answers everything when the link ends. ``tls`` and ``diagnosis`` belong to connecting. ``tickets``,
``numbered_answers``, ``acknowledgement_ranges``, ``credit``, ``polling``, ``copies`` and ``dead_letters`` belong to
messages under way, ``typed_json`` to bodies on wires without types.
"""

__all__: list[str] = []
