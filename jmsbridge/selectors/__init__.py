"""Message selectors (section 3.8): parsed, compiled, evaluated; ``rewriting`` prepares them for brokers."""

from jmsbridge.selectors.builder import MAX_DEPTH
from jmsbridge.selectors.errors import SelectorError
from jmsbridge.selectors.grammar import MAX_LENGTH
from jmsbridge.selectors.indexing import SelectorIndex
from jmsbridge.selectors.selector import Selector, compile_selector, optional_selector

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "Selector",
    "SelectorError",
    "SelectorIndex",
    "compile_selector",
    "optional_selector",
]
