"""A compiled selector, and the cache of them."""

from functools import lru_cache
from typing import Final, final

from jmsbridge.selectors.compiling import compile_condition
from jmsbridge.selectors.grammar import parse
from jmsbridge.selectors.headers import Lookup, lookup_in, needs_message
from jmsbridge.selectors.tree import Node, identifiers
from jmsbridge.spi.envelope import Envelope

__all__ = ["Selector", "compile_selector", "optional_selector"]

_CACHED_SELECTORS: Final = 512
_CACHED_LENGTH: Final = 2048  # a longer selector takes megabytes: too much for a cache of 512


@final
class Selector:
    """A compiled message selector (section 3.8). Immutable and thread-safe.

    ``text`` is the source, ``tree`` the syntax tree, ``identifiers`` the names it refers to. Two selectors are equal if
    their texts are.
    """

    __slots__ = ("_condition", "_needs_message", "identifiers", "text", "tree")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree: Node = parse(text)
        self.identifiers: frozenset[str] = identifiers(self.tree)
        self._condition = compile_condition(self.tree)
        self._needs_message = needs_message(self.identifiers)

    def matches(self, lookup: Lookup) -> bool:
        """True if the selector is true, not false or unknown; ``lookup`` returns canonical values, or None."""
        return self._condition(lookup) is True

    def matches_envelope(self, envelope: Envelope, delivery_count: int = 1) -> bool:
        """True if the headers and properties of the message match."""
        if self._needs_message:
            return self._condition(lookup_in(envelope, delivery_count)) is True
        return self._condition(envelope.properties.get) is True

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Selector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[object, ...]:
        return compile_selector, (self.text,)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"


def compile_selector(text: str) -> Selector:
    """Check and compile a selector; short ones are cached. ``SelectorError`` says what is wrong and where.

    At most ``MAX_LENGTH`` characters and ``MAX_DEPTH`` levels of nesting are accepted. An empty text is an error here;
    see ``optional_selector``.
    """
    return _cached(text) if len(text) <= _CACHED_LENGTH else Selector(text)


def optional_selector(text: str | None) -> Selector | None:
    """The compiled selector; None for None and the empty text, which match every message (section 3.8.1)."""
    return compile_selector(text) if text else None


_cached: Final = lru_cache(_CACHED_SELECTORS)(Selector)
