"""AMQP 1.0: ``amqp://host`` and with TLS ``amqps://``, for Artemis, ActiveMQ Classic and other brokers.

Start reading at ``link`` and ``channel``. ``connection`` has proton on the I/O thread, its sessions and links,
``sending`` and ``receiving`` the ways of a message, ``transactions`` local transactions, ``messages.wire`` the mapping
of Qpid JMS, ``protocol`` the types of AMQP. Only ``connection.proton_calls`` uses what proton does not document.

Without python-qpid-proton, ``messages``, ``protocol`` and the selectors can be imported, ``backend`` cannot.
"""

__all__: list[str] = []
