"""Spring's listener containers for RabbitMQ: prefetch, and what happens to messages that fail."""

from collections.abc import Callable

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.pauses import duration, factor, put_redelivery, truth
from jmsbridge.config.java.rules import Table, alike, apply, differs, none, to
from jmsbridge.config.java.text import count, spring_duration

__all__ = ["LISTENER", "read_listener"]

_SECTION = "spring.rabbitmq."
_KINDS = ("simple", "direct")
_IN_CODE = "an argument in the program, not an option of a connection"
_SPRING_ATTEMPTS, _SPRING_INTERVAL, _SPRING_LONGEST, _SPRING_MULTIPLIER = 3, 1, 10, 1.0
_ATTEMPTS, _RETRIES = "retry.max-attempts", "retry.max-retries"

_CONTAINER: Table = {
    "prefetch": to("prefetch", count),
    "retry.enabled": to("max_redeliveries", differs="and the pauses; if off, default-requeue-rejected decides"),
    _ATTEMPTS: to("max_redeliveries", differs="one less, since the first attempt is not a redelivery"),
    _RETRIES: to("max_redeliveries"),
    "retry.initial-interval": to("redelivery_delay_first"),
    "retry.multiplier": to("redelivery_factor"),
    "retry.max-interval": to("redelivery_delay_max"),
    "retry.stateless": none("a message that is retried is always marked as redelivered, and counted"),
    "default-requeue-rejected": to("max_redeliveries", differs="off: 0; on: unlimited, here with pauses"),
    "acknowledge-mode": none("the session's mode, an argument in the program"),
    **alike(
        "auto-startup batch-size concurrency consumer-batch-enabled consumers-per-queue de-batching-enabled force-stop "
        "idle-event-interval max-concurrency missing-queues-fatal observation-enabled transaction-size",
        none(_IN_CODE),
    ),
}

LISTENER: Table = {
    f"{_SECTION}listener.type": differs("simple", _IN_CODE, "direct"),
    **{f"{_SECTION}listener.{kind}.{name}": rule for kind in _KINDS for name, rule in _CONTAINER.items()},
}
"""The settings below ``spring.rabbitmq.listener``, except streams."""


def read_listener(draft: Draft, take: Callable[[str], str | None]) -> None:
    """Apply the settings of the container type in use; those of the others have no effect in Spring either."""
    kind = (take("listener.type") or "simple").lower()
    for each in _KINDS:
        prefix = f"{_SECTION}listener.{each}."
        given = {name: text for name in _CONTAINER if (text := take(f"listener.{each}.{name}")) is not None}
        if each == kind:
            _failures(draft, given, prefix)
            named = {f"{prefix}{name}": text for name, text in given.items()}
            apply(draft, {f"{prefix}{name}": rule for name, rule in _CONTAINER.items()}, named)
        else:
            for name in given:
                draft.drop(f"{prefix}{name}", f"the listeners are of type {kind}")


def _failures(draft: Draft, given: dict[str, str], prefix: str) -> None:
    """Spring's retries in the listener become redeliveries; after the last one a message is a dead letter."""
    retry = {f"{prefix}{name}": given.pop(name) for name in list(given) if name.startswith("retry.")}
    stateless = retry.pop(f"{prefix}retry.stateless", None)
    if stateless is not None:
        given["retry.stateless"] = stateless
    enabled = truth(draft, retry, f"{prefix}retry.enabled", False)
    requeue = given.pop("default-requeue-rejected", None)
    if not enabled:
        for name in retry:
            draft.drop(name, "without retry.enabled it has no effect, as in Spring")
        if requeue is not None:
            name = f"{prefix}default-requeue-rejected"
            again = truth(draft, {name: requeue}, name, True)
            if draft.set("max_redeliveries", -1 if again else 0, name) and again:
                draft.note(name, "changed", "here with pauses in between")
        return
    tries = retry.pop(f"{prefix}{_ATTEMPTS}", None)
    again_text = retry.pop(f"{prefix}{_RETRIES}", None)
    _limit(draft, prefix, tries, again_text)
    first = duration(draft, retry, f"{prefix}retry.initial-interval", _SPRING_INTERVAL, spring_duration)
    longest = duration(draft, retry, f"{prefix}retry.max-interval", _SPRING_LONGEST, spring_duration)
    multiplier = factor(draft, retry, f"{prefix}retry.multiplier", _SPRING_MULTIPLIER)
    assert isinstance(first, int | float)
    assert isinstance(longest, int | float)
    second = min(first * multiplier, longest)
    put_redelivery(
        draft, f"{prefix}retry.*", first=min(first, longest), delay=second, factor=multiplier, longest=longest
    )
    draft.note(f"{prefix}retry.enabled", "changed", "a message is retried by redelivery, which is counted")


def _limit(draft: Draft, prefix: str, tries: str | None, again: str | None) -> None:
    for name, text, less in ((_RETRIES, again, 0), (_ATTEMPTS, tries or str(_SPRING_ATTEMPTS), 1)):
        if text is None:
            continue
        try:
            draft.set("max_redeliveries", max(int(text) - less, 0), f"{prefix}{name}")
        except ValueError:
            draft.drop(f"{prefix}{name}", "its value is not a number, or known only when the program runs")
        return
