"""All tables of options, for the documentation and its tests."""

from jmsbridge.config.java import artemis, classic, pulsar, qpid, rabbitmq, spring
from jmsbridge.config.java.rules import Table

__all__ = ["java_tables"]


def java_tables() -> dict[str, Table]:
    """The rule of every known option, by client; options that depend on each other come first."""
    return {
        "Qpid JMS": {**qpid.FIRST, **qpid.TABLE},
        "ActiveMQ Classic": {**classic.FIRST, **classic.TABLE},
        "ActiveMQ Artemis": {**artemis.FIRST, **artemis.TABLE},
        "RabbitMQ's JMS client, properties of the factory": {**rabbitmq.ADDRESS, **rabbitmq.FACTORY},
        "RabbitMQ's JMS client, query of a URI": rabbitmq.URI,
        "Starlight for JMS": {**pulsar.FIRST, **pulsar.TABLE},
        "Spring Boot": {**spring.FIRST, **spring.TABLE},
    }
