"""Administration of brokers that have it over AMQP 1.0."""

__all__: list[str] = []
