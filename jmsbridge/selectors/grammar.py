"""The tokens and the grammar of selectors (section 3.8.1.1), and the parser that gives a checked tree."""

import re
import unicodedata
from functools import cache
from typing import Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from jmsbridge.selectors.builder import Builder, Piece
from jmsbridge.selectors.errors import Misfit, SelectorError
from jmsbridge.selectors.numerals import LONG_MIN_MAGNITUDE, exact_magnitude
from jmsbridge.selectors.tree import Node

__all__ = ["MAX_LENGTH", "parse"]

MAX_LENGTH: Final = 32_768
"""The longest selector accepted, in characters: even a hostile one of this length is parsed within a second."""

# Keywords are recognised after the longest identifier was read (NOTE is not NOT E), and only in ASCII.
_KEYWORDS: Final = {
    "NULL": "_NULL", "TRUE": "BOOLEAN", "FALSE": "BOOLEAN", "NOT": "NOT", "AND": "_AND", "OR": "_OR",
    "BETWEEN": "_BETWEEN", "LIKE": "_LIKE", "IN": "_IN", "IS": "_IS", "ESCAPE": "_ESCAPE",
}  # fmt: skip

_GRAMMAR: Final = r"""
?start: or_expr
?or_expr: and_expr (_OR and_expr)*
?and_expr: not_expr (_AND not_expr)*
?not_expr: NOT not_expr -> negation
    | predicate
?predicate: add_expr
    | add_expr COMPARE add_expr -> comparison
    | add_expr NOT? _BETWEEN add_expr _AND add_expr -> between
    | add_expr NOT? _IN LPAR STRING (_COMMA STRING)* RPAR -> is_in
    | add_expr NOT? _LIKE STRING -> like
    | add_expr NOT? _LIKE STRING _ESCAPE STRING -> like_escape
    | add_expr _IS NOT? _NULL -> is_null
?add_expr: mul_expr ((PLUS | MINUS) mul_expr)*
?mul_expr: unary ((STAR | SLASH) unary)*
?unary: (PLUS | MINUS) unary -> signed
    | MINUS LONG_MIN -> long_min
    | primary
?primary: LPAR or_expr RPAR -> group
    | STRING -> string
    | EXACT -> exact
    | APPROXIMATE -> approximate
    | BOOLEAN -> boolean
    | IDENTIFIER -> identifier

IDENTIFIER: /[A-Za-z_$\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*/
STRING: /'[^']*(?:''[^']*)*'(?!')/
APPROXIMATE.2: /0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?
    |(?:[0-9][0-9_]*\.(?:[0-9][0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?[fFdD]?
    |[0-9][0-9_]*(?:[eE][+-]?[0-9]+[fFdD]?|[fFdD])/x
EXACT.1: /(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*)[lL]?/
COMPARE: /<>|<=|>=|=|<|>/
PLUS: "+"
MINUS: "-"
STAR: "*"
SLASH: "/"
LPAR: "("
RPAR: ")"
_COMMA: ","
%declare NOT BOOLEAN LONG_MIN _AND _OR _BETWEEN _IN _LIKE _ESCAPE _IS _NULL
%ignore /[ \t\f\r\n]+/
"""

_STARTS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
_PARTS: Final = _STARTS | {"Nd", "Mn", "Mc", "Cf"}
_NEVER: Final = re.compile("[\\0\ud800-\udfff]")

# Names in error messages, for tokens that may be the only ones expected.
_NAMES: Final = {
    "IDENTIFIER": "an operand", "STRING": "a string", "LPAR": "'('", "RPAR": "')'", "_COMMA": "','",
    "_AND": "AND", "_BETWEEN": "BETWEEN", "_IN": "IN", "_LIKE": "LIKE", "_NULL": "NULL", "NOT": "NOT",
}  # fmt: skip


def parse(text: str) -> Node:
    """The checked tree of a selector; SelectorError if section 3.8 does not allow it."""
    if len(text) > MAX_LENGTH:
        raise SelectorError(f"a selector has at most {MAX_LENGTH} characters, this one {len(text)}", MAX_LENGTH)
    if (never := _NEVER.search(text)) is not None:
        raise SelectorError("NUL and lone surrogates are not allowed in a selector", never.start(), never[0])
    try:
        piece: Piece = _parser().parse(text)  # type: ignore[assignment]  # the transformer's, not a Tree
        Builder.check_condition(piece, "a selector")
    except Misfit as misfit:
        raise SelectorError(misfit.reason, misfit.start, text[misfit.start : misfit.end]) from None
    except UnexpectedToken as error:
        raise _unexpected(error) from None
    except UnexpectedCharacters as error:
        raise _unreadable(text, error.pos_in_stream or 0) from None
    return piece.node


@cache
def _parser() -> Lark:
    return Lark(
        _GRAMMAR,
        parser="lalr",
        lexer="basic",
        transformer=Builder(),
        lexer_callbacks={"IDENTIFIER": _word, "EXACT": _exact},
    )


def _word(token: Token) -> Token:
    """Distinguish keywords from identifiers, and check Java's character classes, which the expression cannot."""
    if token.isascii():
        kind = _KEYWORDS.get(token.upper())
        return token if kind is None else token.update(type=kind)
    for offset, character in enumerate(token):
        if unicodedata.category(character) not in (_PARTS if offset else _STARTS) and character > "\x7f":
            position = (token.start_pos or 0) + offset
            raise Misfit("this character is not allowed in an identifier", position, position + 1)
    return token


def _exact(token: Token) -> Token:
    """The magnitude that only a negative literal can have is a token of its own."""
    return token.update(type="LONG_MIN") if exact_magnitude(token) == LONG_MIN_MAGNITUDE else token


def _unexpected(error: UnexpectedToken) -> SelectorError:
    token, expected = error.token, set(error.expected)
    position = token.start_pos or 0
    if token.type == "$END":
        return SelectorError(f"the selector ends too early; expected {_wanted(expected)}", token.end_pos or 0)
    if token.type == "LONG_MIN":
        return SelectorError("the number is out of the range of long", position, str(token))
    if expected & {"_OR", "$END"}:
        return SelectorError("this is not allowed here", position, str(token))
    if "IDENTIFIER" in expected and token.upper() in _KEYWORDS:
        return SelectorError("a reserved word cannot be an operand", position, str(token))
    return SelectorError(f"expected {_wanted(expected)}", position, str(token))


def _wanted(expected: set[str]) -> str:
    """The most useful of the expected tokens, in words: the parser's set has every possible one."""
    for name in ("IDENTIFIER", "RPAR"):
        if name in expected:
            return _NAMES[name]
    return " or ".join(sorted(_NAMES[name] for name in expected if name in _NAMES)) or "something else"


def _unreadable(text: str, position: int) -> SelectorError:
    character = text[position]
    if character == "'":
        return SelectorError("the string is not closed", position, text[position:])
    reason = "strings take single quotes" if character == '"' else "this character is not allowed in a selector"
    return SelectorError(reason, position, character)
