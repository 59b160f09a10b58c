"""Rewrites selectors for messages that came over STOMP, whose properties are texts, and for those of Java. Pure.

The types of our properties are in the header ``TYPES``, which a selector can look into; those of Java have their own.
The brokers convert a text that is compared with a number or a boolean, whatever the text means, Artemis if the selector
has a prefix; so each condition first asks for the type. Numbers are compared as doubles, since a text such as 2.5 is
not converted to an integer; that is exact, except beside integers of 2^53 and more, which are compared with longs.

Each condition is written twice: as one that is true where it is true, and as one that is true where it is false, which
takes the place of NOT. What cannot be written, such as arithmetic with properties, is refused.
"""

import json
import re
from typing import Final

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import (
    And,
    Between,
    Comparison,
    Identifier,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    fold,
    identifiers,
)
from jmsbridge.selectors.written import MIRRORED, Written, joined
from jmsbridge.spi import SelectorRefused
from jmsbridge_stomp.messages.conventions import SIDE, TYPES, is_plain_name
from jmsbridge_stomp.messages.dialects import Dialect

__all__ = ["rewritten"]

_PREFIX: Final = "convert_string_expressions:"
_NUMBERS: Final = {"JMSPriority": "AMQPriority", "JMSTimestamp": "AMQTimestamp"}
_TEXTS: Final = {
    "JMSCorrelationID": "JMSCorrelationID",
    "JMSDeliveryMode": "AMQDurable",
    "JMSType": "JMSType",
    "JMSXGroupID": "AMQGroupID",
}
_MODES: Final = {"PERSISTENT": "DURABLE", "NON_PERSISTENT": "NON_DURABLE"}
_MESSAGE_ID: Final = "JMSMessageID"
_TIMESTAMP: Final = "JMSTimestamp"
_OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SIMPLE: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_EXACT: Final = 1 << 53
_YES, _NO = Literal(True), Literal(False)


_UNKNOWN: Final = Written(_NO, _NO)


def rewritten(selector: str, dialect: Dialect) -> str:
    """The selector to send to the broker; SelectorRefused for what it cannot evaluate."""
    return _Rewriter(dialect).text(selector)


class _Rewriter:
    """For one product: Artemis has other names for headers, and converts texts only if the selector asks for it."""

    def __init__(self, dialect: Dialect) -> None:
        self._broker = dialect.name
        self._routes = dialect.routes
        self._numbers = _NUMBERS if dialect.routes else {name: name for name in _NUMBERS}
        self._texts = _TEXTS if dialect.routes else {name: name for name in _TEXTS}
        self._modes = _MODES if dialect.routes else {}

    def text(self, selector: str) -> str:
        """The selector in the words of the broker."""
        text = render(fold(compile_selector(selector).tree, self._write).true)
        return f"{_PREFIX}{text}" if self._routes else text

    def _write(self, node: Node, below: tuple[Written, ...]) -> Written:
        if isinstance(node, And | Or | Not):
            return joined(node, below)
        if isinstance(node, Literal):
            return Written(node, Literal(not node.value)) if isinstance(node.value, bool) else _UNKNOWN
        if isinstance(node, Identifier):
            return self._compare(node, "=", True)
        if isinstance(node, IsNull):
            made = self._is_null(node.identifier.name)
            return made.opposite if node.negated else made
        if isinstance(node, In):
            return self._if_alike(node, self._among(node.identifier.name, node.choices), node.identifier, "")
        if isinstance(node, Like):
            return self._if_alike(node, self._like(node), node.identifier, "")
        if isinstance(node, Between):
            return self._if_alike(node, self._between(node), node.value, 0)
        return self._comparison(node) if isinstance(node, Comparison) else _UNKNOWN  # arithmetic: refused above it

    def _if_alike(self, node: In | Like | Between, made: Written, value: Node, kind: float | str) -> Written:
        """With a value of another type than ``kind`` the condition is false, negated or not (rule SE-18)."""
        made = made.opposite if node.negated else made
        assert isinstance(value, Identifier)
        return Written(made.true, self._or_unlike(made.false, value.name, kind))

    def _comparison(self, node: Comparison) -> Written:
        left, right, operator = node.left, node.right, node.operator
        if not identifiers(node):
            return _constant(node)
        if isinstance(left, Literal):
            left, right, operator = right, left, MIRRORED[operator]
        if isinstance(left, Identifier) and isinstance(right, Literal):
            made = self._compare(left, operator, right.value)
            return Written(made.true, self._or_unlike(made.false, left.name, right.value))
        raise self._refused(node)

    def _or_unlike(self, node: Node, name: str, value: bool | float | str) -> Node:
        """The condition, or that the property has a type that is not compared with such a value (rule SE-12)."""
        if not is_plain_name(name) or self._is_header(name):
            return node
        if isinstance(value, str):
            return Or((node, _has_type(name), self._is_typed_by_java(name)))
        is_ours, is_by_java = _has_type(name, "boolean"), self._is_typed_by_java(name)
        is_one: Node = Or(tuple(Comparison("=", self._named(name), Literal(each)) for each in (True, False)))
        if isinstance(value, bool):
            is_ours, is_one = And((_has_type(name), Not(is_ours))), Not(is_one)
        return Or((node, self._is_text(name), is_ours, And((is_by_java, is_one))))

    def _between(self, node: Between) -> Written:
        value, low, high = node.children
        if not (isinstance(value, Identifier) and isinstance(low, Literal) and isinstance(high, Literal)):
            raise self._refused(node)
        first, second = self._compare(value, ">=", low.value), self._compare(value, "<=", high.value)
        return Written(And((first.true, second.true)), Or((first.false, second.false)))

    def _refused(self, node: Node) -> SelectorRefused:
        return SelectorRefused(
            f"{self._broker} cannot evaluate {render(node)!r} on messages of STOMP, whose properties are texts: "
            "compare each property with a literal, or use amqp://"
        )

    def _compare(self, name: Identifier, operator: str, value: bool | float | str) -> Written:
        if isinstance(value, bool | str) and operator not in ("=", "<>"):
            return _UNKNOWN
        if isinstance(value, bool):
            made = self._boolean(name.name, value)
            return made if operator == "=" else made.opposite
        if isinstance(value, str):
            made = self._among(name.name, (value,))
            return made if operator == "=" else made.opposite
        return Written(self._number(name.name, operator, value), self._number(name.name, _OPPOSITE[operator], value))

    def _boolean(self, name: str, value: bool) -> Written:
        if not is_plain_name(name):
            return _UNKNOWN if self._is_header(name) else self._hidden(name)

        def equal(wanted: bool) -> Node:
            ours = And(
                (_has_type(name, "boolean"), Comparison("=", self._named(name), Literal("true" if wanted else "false")))
            )
            return Or((ours, And((self._is_typed_by_java(name), Comparison("=", self._named(name), Literal(wanted))))))

        return Written(equal(value), equal(not value))

    def _number(self, name: str, operator: str, value: float) -> Node:
        if name in self._numbers:
            header = _ordered(Identifier(self._numbers[name]), operator, value)
            return _at(header, operator, value) if self._routes and name == _TIMESTAMP else header
        if not is_plain_name(name):
            return _NO if self._is_header(name) else self._hidden(name).true
        found = self._named(name)
        ours: Node = And((_has_type(name), _ordered(found, operator, float(value))))
        if abs(value) >= _EXACT and not isinstance(value, float):
            is_long = _has_type(name, "long")
            ours = Or((And((is_long, _ordered(found, operator, value))), And((Not(is_long), ours))))
        return Or((ours, And((self._is_typed_by_java(name), _ordered(found, operator, value)))))

    def _among(self, name: str, choices: tuple[str, ...]) -> Written:
        """Whether it is a text, and one of these."""
        if name == _MESSAGE_ID:
            return _ids(choices)
        if name == "JMSDeliveryMode":
            choices = tuple(self._modes.get(each, each) for each in choices)
        is_text, found = self._is_text(name), self._text_name(name)
        one = Comparison("=", found, Literal(choices[0])) if len(choices) == 1 else In(found, choices)
        other = Comparison("<>", found, Literal(choices[0])) if len(choices) == 1 else Not(In(found, choices))
        return Written(And((is_text, one)), And((is_text, other)))

    def _like(self, node: Like) -> Written:
        name = node.identifier.name
        if name in (_MESSAGE_ID, "JMSDeliveryMode"):
            raise self._refused(node)
        is_text, like = self._is_text(name), Like(self._text_name(name), node.pattern, node.escape)
        return Written(And((is_text, like)), And((is_text, Not(like))))

    def _is_null(self, name: str) -> Written:
        if name == _MESSAGE_ID:
            there = _ids_like("%")
            return Written(Or((IsNull(Identifier(SIDE)), Not(there))), there)
        found = Identifier(self._numbers[name]) if name in self._numbers else self._text_name(name)
        return Written(IsNull(found), IsNull(found, negated=True))

    def _is_typed_by_java(self, name: str) -> Node:
        return And((IsNull(self._named(name), negated=True), Not(Like(self._named(name), "%"))))

    def _is_text(self, name: str) -> Node:
        found = Like(self._text_name(name), "%")
        if name in self._texts:
            return found
        return And((found, Or((IsNull(Identifier(TYPES)), Not(_has_type(name))))))

    def _text_name(self, name: str) -> Identifier:
        if name in self._texts:
            return Identifier(self._texts[name])
        if not is_plain_name(name):
            if not self._is_header(name):
                self._hidden(name)
            return Identifier(self._numbers.get(name, name))
        return self._named(name)

    def _is_header(self, name: str) -> bool:
        return name in self._numbers or name in self._texts or name == _MESSAGE_ID

    def _hidden(self, name: str) -> Written:
        raise SelectorRefused(
            f"{self._broker} does not see the property {name!r} of messages of STOMP, which carry it in a header of "
            "jmsbridge"
        )

    def _named(self, name: str) -> Identifier:
        if _SIMPLE.fullmatch(name):
            return Identifier(name)
        if not self._routes:
            raise SelectorRefused(f"{self._broker} has no names with letters beyond ASCII in selectors: {name}")
        return Identifier(f'"{name}"')


def _constant(node: Node) -> Written:
    true = compile_selector(render(node)).matches(lambda name: None)
    false = compile_selector(render(Not(node))).matches(lambda name: None)
    return Written(Literal(true), Literal(false))


def _ordered(name: Identifier, operator: str, value: float) -> Node:
    literal = Literal(float(value) if isinstance(value, float) else value)
    if operator == "<>":  # the broker takes it for true where the types differ
        return Or((Comparison("<", name, literal), Comparison(">", name, literal)))
    return Comparison(operator, name, literal)


def _ids(choices: tuple[str, ...]) -> Written:
    """The id is in our own header: Artemis does not know the ids of messages that came over STOMP."""
    there, one = _ids_like("%"), Or(tuple(_ids_like(_escaped(json.dumps(each)[1:-1]) + '"%') for each in choices))
    made = one if len(choices) > 1 else one.operands[0]
    return Written(made, And((there, Not(made))))


def _ids_like(pattern: str) -> Node:
    side = Identifier(SIDE)
    return Or((Like(side, '{"id":"' + pattern, "!"), Like(side, '{"kind":_,"id":"' + pattern, "!")))


def _has_type(name: str, kind: str = "") -> Node:
    """Whether it is a property of ours that is no text; of this type, if one is given."""
    text = json.dumps({name: kind})[1:-1] if kind else json.dumps({name: ""})[1:-2]
    return Like(Identifier(TYPES), f"%{_escaped(text)}%", "!")


def _at(header: Node, operator: str, value: float) -> Node:
    """Artemis has the time at the broker; that of the sender is in our own header, where it can only be found."""
    if operator not in ("=", "<>"):
        return header
    side = Identifier(SIDE)
    found: Node = Or(tuple(Like(side, f'%"timestamp":{value:.0f}{end}%') for end in ",}"))
    return Or((And((IsNull(side), header)), found if operator == "=" else Not(found)))


def _escaped(text: str) -> str:
    """A part of a pattern that stands for itself."""
    return re.sub("([!%_])", r"!\1", text)
