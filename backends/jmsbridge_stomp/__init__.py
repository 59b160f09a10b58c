"""STOMP 1.2: ``stomp://host`` and with TLS ``stomp+ssl://``, for ActiveMQ Classic and Artemis.

``protocol`` has the frames of STOMP.
"""

__all__: list[str] = []
