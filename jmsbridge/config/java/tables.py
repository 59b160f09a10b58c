"""All tables of options together, for the documentation and its tests."""

from jmsbridge.config.java import artemis, classic, pulsar, qpid, rabbitmq, spring
from jmsbridge.config.java.rules import PREFETCH, Backoff, Rule, Table, to

__all__ = ["java_tables"]


def java_tables() -> dict[str, Table]:
    """What becomes of every option that is known, by client; those that are read together come first."""
    first = {name: to("prefetch", differs=remark) for name, remark in PREFETCH.items()}
    return {
        "Qpid JMS": {**first, **_pauses(qpid.RECONNECT), **qpid.TABLE},
        "ActiveMQ Classic": {**first, **_pauses(classic.REDELIVERY), **_pauses(classic.RECONNECT), **classic.TABLE},
        "ActiveMQ Artemis": {**_pauses(artemis.RECONNECT), **artemis.TABLE},
        "RabbitMQ's JMS client, properties of the factory": {**_ADDRESS, **rabbitmq.FACTORY},
        "RabbitMQ's JMS client, behind a URI": rabbitmq.URI,
        "Starlight for JMS": {"brokerServiceUrl": to("url"), **pulsar.TABLE},
        "Spring Boot": spring.TABLE,
    }


_ADDRESS: dict[str, Rule] = {
    **{name: to("url") for name in ("uri", "uris", "host", "port", "virtualHost", "ssl")},
    "username": to("user"),
    "password": to("password"),
}


def _pauses(names: Backoff) -> dict[str, Rule]:
    rules = {name: to(names.ours) for name in names.delays}
    rules[names.longest] = to(f"{names.ours}_max")
    if names.growing is not None:
        rules[names.growing] = to(f"{names.ours}_max", differs="off: the longest pause is the first one")
    if names.multiplier is not None:
        rules[names.multiplier] = to(
            f"{names.ours}_max", differs="1: the longest pause is the first one; else it doubles"
        )
    return rules
