"""Messaging that is written in other ways than those that are read: it is told, not understood."""

import re
from collections.abc import Iterator

__all__ = ["unread_in"]

_ROUTES = rb"[\"'](?:jms|sjms2?|activemq6?|amqp):"

_WAYS: dict[str, list[tuple[str, tuple[bytes, ...]]]] = {
    ".xml": [
        ("XML of Spring", (rb"org/schema/jms\b|org\.springframework\.jms\.(?:core|listener)\.",)),
        ("XML of message-driven beans", (rb"<(?:[\w-]+:)?message-driven[\s>]",)),
        ("XML of Spring Integration", (rb"org/schema/integration/jms\b",)),
        ("a route of Camel", (rb"camel\.apache\.org/schema", _ROUTES)),
    ],
    ".java": [
        ("Spring Integration", (rb"^import\s+org\.springframework\.integration\.jms\.dsl\.",)),
        (
            "a route of Camel",
            (rb"^import\s+org\.apache\.camel\.(?:builder\.|Consume;|Produce;|EndpointInject;|\*)", _ROUTES),
        ),
    ],
}
"""By the ending of a file's name: what it is, and the patterns that a file of this kind has, all of them."""


def unread_in(data: bytes, ending: str) -> Iterator[tuple[int, str]]:
    """The lines, from 1, where the first messaging of each kind is that the report does not have, and what it is."""
    for what, patterns in _WAYS[ending]:
        found = [re.search(pattern, data, re.MULTILINE) for pattern in patterns]
        last = found[-1]
        if last is not None and all(found):
            yield data.count(b"\n", 0, last.start()) + 1, f"{what} is not read: its destinations are not in the report"
