"""Builds the tree from the parser's rules, and checks the types that the text shows (section 3.8.1.2).

The parser calls one method per rule, bottom-up, with the finished parts. So types and nesting are checked while the
tree is built.
"""

from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec
from lark import Token, Transformer, v_args

from jmsbridge.selectors import tree
from jmsbridge.selectors.errors import Misfit
from jmsbridge.selectors.headers import is_forbidden_header
from jmsbridge.selectors.numerals import approximate_value, exact_value

__all__ = ["MAX_DEPTH", "Builder", "Kind", "Piece"]

MAX_DEPTH: Final = 200
"""The deepest nesting accepted: operators within operators, and parentheses, each count one."""


class Kind(Enum):
    """What the text shows about the type of an expression."""

    ANY = "identifier"
    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"


class Piece(msgspec.Struct, frozen=True):
    """A finished part: its tree, the known type, the position in the text, the depth."""

    node: tree.Node
    kind: Kind
    start: int
    end: int
    depth: int = 1
    number: Token | None = None
    """The token of a number literal, to which a sign may still be added."""


_Part: TypeAlias = Piece | Token


def _start(part: _Part) -> int:
    return part.start if isinstance(part, Piece) else part.start_pos or 0


def _end(part: _Part) -> int:
    return part.end if isinstance(part, Piece) else part.end_pos or 0


def _over(node: tree.Node, kind: Kind, *parts: _Part) -> Piece:
    """The piece that covers all these parts."""
    start, end = _start(parts[0]), _end(parts[-1])
    depth = 1 + max(part.depth for part in parts if isinstance(part, Piece))
    if depth > MAX_DEPTH:
        raise Misfit(f"nested deeper than {MAX_DEPTH} levels", start, end)
    return Piece(node, kind, start, end, depth)


def _leaf(node: tree.Node, kind: Kind, token: Token, number: Token | None = None) -> Piece:
    return Piece(node, kind, _start(token), _end(token), 1, number)


def _check(piece: Piece, wanted: Kind, what: str) -> None:
    if piece.kind is not wanted and piece.kind is not Kind.ANY:
        raise Misfit(f"{what} must be a {wanted.value}, not a {piece.kind.value}", piece.start, piece.end)


def _identifier(piece: Piece, what: str) -> tree.Identifier:
    if isinstance(piece.node, tree.Identifier) and piece.depth == 1:
        return piece.node
    raise Misfit(f"{what} can test only an identifier", piece.start, piece.end)


def _unquoted(token: Token) -> str:
    return token[1:-1].replace("''", "'")


@v_args(inline=True)
class Builder(Transformer[Token, Piece]):
    """The parser's callbacks; stateless, so that threads can share it."""

    @staticmethod
    def check_condition(piece: Piece, what: str) -> None:
        """Refuse an expression that cannot be true or false."""
        if piece.kind in (Kind.NUMBER, Kind.STRING):
            raise Misfit(f"{what} must be a condition, not a {piece.kind.value}", piece.start, piece.end)

    def identifier(self, token: Token) -> Piece:
        """A property or one of the six headers."""
        if is_forbidden_header(token):
            raise Misfit("a selector cannot use this header", _start(token), _end(token))
        return _leaf(tree.Identifier(str(token)), Kind.ANY, token)

    def string(self, token: Token) -> Piece:
        """A string literal."""
        return _leaf(tree.Literal(_unquoted(token)), Kind.STRING, token)

    def boolean(self, token: Token) -> Piece:
        """TRUE or FALSE."""
        return _leaf(tree.Literal(token.upper() == "TRUE"), Kind.BOOLEAN, token)

    def exact(self, token: Token) -> Piece:
        """An integer literal without sign."""
        return _leaf(tree.Literal(exact_value(token)), Kind.NUMBER, token, token)

    def approximate(self, token: Token) -> Piece:
        """A floating literal without sign."""
        return _leaf(tree.Literal(approximate_value(token)), Kind.NUMBER, token, token)

    def long_min(self, sign: Token, token: Token) -> Piece:
        """The smallest long, whose digits are out of range without the sign."""
        return Piece(tree.Literal(exact_value(token, negative=True)), Kind.NUMBER, _start(sign), _end(token))

    def group(self, left: Token, inner: Piece, right: Token) -> Piece:
        """An expression in parentheses."""
        return _over(inner.node, inner.kind, left, inner, right)

    def signed(self, sign: Token, operand: Piece) -> Piece:
        """A sign: part of a literal after it, else an operator."""
        negative = sign == "-"
        if (word := operand.number) is not None:
            value = (exact_value if word.type == "EXACT" else approximate_value)(word, negative)
            return Piece(tree.Literal(value), Kind.NUMBER, _start(sign), operand.end)
        _check(operand, Kind.NUMBER, f"the operand of {sign}")
        return _over(tree.Signed(negative, operand.node), Kind.NUMBER, sign, operand)

    def mul_expr(self, *parts: _Part) -> Piece:
        """A chain of * and /, or of + and -."""
        operators = tuple(str(part) for part in parts if isinstance(part, Token))
        operands = [part for part in parts if isinstance(part, Piece)]
        for operand, operator in zip(operands, (operators[0], *operators), strict=True):
            _check(operand, Kind.NUMBER, f"the operand of {operator}")
        node = tree.Arithmetic(operators, tuple(operand.node for operand in operands))
        return _over(node, Kind.NUMBER, *operands)

    add_expr = mul_expr

    def comparison(self, left: Piece, operator: Token, right: Piece) -> Piece:
        """A comparison of two values of the same type; only numbers are ordered."""
        if operator not in ("=", "<>"):
            for side in (left, right):
                _check(side, Kind.NUMBER, f"the operand of {operator}")
        if Kind.ANY not in (left.kind, right.kind) and left.kind is not right.kind:
            reason = f"a {left.kind.value} cannot be compared with a {right.kind.value}"
            raise Misfit(reason, left.start, right.end)
        return _over(tree.Comparison(str(operator), left.node, right.node), Kind.BOOLEAN, left, right)

    def between(self, value: Piece, *rest: Any) -> Piece:
        """BETWEEN numbers."""
        *negation, low, high = rest
        for piece in (value, low, high):
            _check(piece, Kind.NUMBER, "the operand of BETWEEN")
        node = tree.Between(value.node, low.node, high.node, bool(negation))
        return _over(node, Kind.BOOLEAN, value, low, high)

    def is_in(self, value: Piece, *rest: Token) -> Piece:
        """IN a list of strings."""
        choices = tuple(_unquoted(token) for token in rest if token.type == "STRING")
        node = tree.In(_identifier(value, "IN"), choices, rest[0].type == "NOT")
        return _over(node, Kind.BOOLEAN, value, rest[-1])

    def like(self, value: Piece, *rest: Token) -> Piece:
        """LIKE a pattern."""
        *negation, pattern = rest
        node = tree.Like(_identifier(value, "LIKE"), _unquoted(pattern), None, bool(negation))
        return _over(node, Kind.BOOLEAN, value, pattern)

    def like_escape(self, value: Piece, *rest: Token) -> Piece:
        """LIKE a pattern with an escape character."""
        *negation, pattern, escape = rest
        character = _unquoted(escape)
        if len(character) != 1:
            raise Misfit("ESCAPE takes exactly one character", _start(escape), _end(escape))
        node = tree.Like(_identifier(value, "LIKE"), _unquoted(pattern), character, bool(negation))
        return _over(node, Kind.BOOLEAN, value, escape)

    def is_null(self, value: Piece, *negation: Token) -> Piece:
        """IS NULL."""
        return _over(tree.IsNull(_identifier(value, "IS NULL"), bool(negation)), Kind.BOOLEAN, value)

    def negation(self, word: Token, operand: Piece) -> Piece:
        """NOT a condition."""
        self.check_condition(operand, "the operand of NOT")
        return _over(tree.Not(operand.node), Kind.BOOLEAN, word, operand)

    def and_expr(self, *operands: Piece) -> Piece:
        """A conjunction."""
        return self._junction(tree.And, operands, "the operand of AND")

    def or_expr(self, *operands: Piece) -> Piece:
        """A disjunction."""
        return self._junction(tree.Or, operands, "the operand of OR")

    def _junction(self, kind: type[tree.And] | type[tree.Or], operands: tuple[Piece, ...], what: str) -> Piece:
        for operand in operands:
            self.check_condition(operand, what)
        return _over(kind(tuple(operand.node for operand in operands)), Kind.BOOLEAN, *operands)
