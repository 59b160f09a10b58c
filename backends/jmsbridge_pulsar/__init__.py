"""Apache Pulsar: ``pulsar://host`` and with TLS ``pulsar+ssl://``; compatible with Starlight for JMS."""

__all__: list[str] = []
