"""STOMP 1.2: ``stomp://host`` and with TLS ``stomp+ssl://``, for ActiveMQ Classic, Artemis and RabbitMQ.

``protocol`` has the frames of STOMP.
"""

__all__: list[str] = []
