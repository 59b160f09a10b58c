"""Envelopes as messages of Pulsar and back, as Starlight for JMS writes and reads them.

Start at ``encoding`` and ``decoding``. Pure; none of it knows pulsar-client.
"""

__all__: list[str] = []
