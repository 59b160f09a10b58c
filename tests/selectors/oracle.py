"""A second evaluator, simple and slow: it walks the tree, rounds with fractions, and shares no code with the first."""

from fractions import Fraction
from math import copysign, inf, isfinite, nan
from typing import Any

from jmsbridge.selectors import tree as t
from jmsbridge.values import Byte, Float, Long, Short

__all__ = ["evaluate"]

TYPES = ["int", "long", "float", "double"]


def java_type(value: Any) -> str:
    names = {Byte: "int", Short: "int", int: "int", Long: "long", Float: "float", float: "double"}
    return names.get(type(value), type(value).__name__)


def nearest_single(value: int | float) -> float:
    """Round an exact number to 24 bits, half to even."""
    if isinstance(value, float) and (not isfinite(value) or value == 0.0):
        return float(value)
    exact = Fraction(int(value)) if isinstance(value, int) else Fraction(float(value))
    if exact == 0:
        return 0.0
    magnitude, exponent = abs(exact), -149
    while magnitude / Fraction(2) ** exponent >= 1 << 24:
        exponent += 1
    rounded = round(magnitude / Fraction(2) ** exponent) * Fraction(2) ** exponent
    result = inf if rounded >= Fraction(2) ** 128 else float(rounded)
    return copysign(result, -1 if exact < 0 else 1)


def convert(value: Any, to: str) -> Any:
    if to in ("int", "long"):
        return int(value)
    return float(int(value) if isinstance(value, int) else value) if to == "double" else nearest_single(value)


def wrap(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >= 1 << (bits - 1) else value


def calculate(sign: str, left: Any, right: Any) -> Any:
    if java_type(left) not in TYPES or java_type(right) not in TYPES:
        return None
    kind = max(java_type(left), java_type(right), key=TYPES.index)
    a, b = convert(left, kind), convert(right, kind)
    if kind in ("int", "long"):
        if sign == "/" and b == 0:
            return None
        exact = {"+": a + b, "-": a - b, "*": a * b}[sign] if sign != "/" else int(Fraction(a, b))
        return wrap(exact, 32) if kind == "int" else Long(wrap(exact, 64))
    result = {"+": a + b, "-": a - b, "*": a * b, "/": quotient(a, b)}[sign]
    return result if kind == "double" else Float(nearest_single(result))


def quotient(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return nan
    return inf if copysign(1.0, a) == copysign(1.0, b) else -inf


def relate(operator: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    a, b = java_type(left), java_type(right)
    if a in TYPES and b in TYPES:
        kind = max(a, b, key=TYPES.index)
        x, y = convert(left, kind), convert(right, kind)
        answers = {"=": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
        return bool(answers[operator])
    if a != b or operator not in ("=", "<>"):
        return False
    return bool((left == right) is (operator == "="))


def both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def invert(value: bool | None) -> bool | None:
    return {True: False, False: True, None: None}[value]


def either(left: bool | None, right: bool | None) -> bool | None:
    return invert(both(invert(left), invert(right)))


def like(pattern: str, escape: str | None, text: str) -> bool:
    if not pattern:
        return not text
    head, rest = pattern[0], pattern[1:]
    if head == escape:
        head, rest = (rest[0], rest[1:]) if rest else (head, "")
    elif head == "%":
        return any(like(rest, escape, text[start:]) for start in range(len(text) + 1))
    elif head == "_":
        return bool(text) and like(rest, escape, text[1:])
    return text[:1] == head and like(rest, escape, text[1:])


def truth(node: t.Node, values: dict[str, Any]) -> bool | None:
    value = evaluate(node, values)
    return value if isinstance(value, bool) else None


def of_text(node: t.In | t.Like, values: dict[str, Any]) -> bool | None:
    value = values.get(node.identifier.name)
    if value is None:
        return None
    if not isinstance(value, str):
        return False
    found = value in node.choices if isinstance(node, t.In) else like(node.pattern, node.escape, value)
    return found != node.negated


def between(node: t.Between, values: dict[str, Any]) -> bool | None:
    value, low, high = (evaluate(child, values) for child in (node.value, node.low, node.high))
    if node.negated:
        return either(relate("<", value, low), relate(">", value, high))
    return both(relate(">=", value, low), relate("<=", value, high))


def evaluate(node: t.Node, values: dict[str, Any]) -> Any:
    match node:
        case t.Literal(value=value):
            return value
        case t.Identifier(name=name):
            return values.get(name)
        case t.Signed(negative=negative, operand=operand):
            value = evaluate(operand, values)
            return calculate("*", value, -1 if negative else 1)
        case t.Arithmetic(operators=operators, operands=operands):
            result = evaluate(operands[0], values)
            for sign, operand in zip(operators, operands[1:], strict=True):
                result = calculate(sign, result, evaluate(operand, values))
            return result
        case t.Comparison(operator=operator, left=left, right=right):
            return relate(operator, evaluate(left, values), evaluate(right, values))
        case t.Between():
            return between(node, values)
        case t.In() | t.Like():
            return of_text(node, values)
        case t.IsNull(identifier=identifier, negated=negated):
            return (values.get(identifier.name) is None) != negated
        case t.Not(operand=operand):
            return invert(truth(operand, values))
        case t.And(operands=operands) | t.Or(operands=operands):
            join = both if isinstance(node, t.And) else either
            result = truth(operands[0], values)
            for operand in operands[1:]:
                result = join(result, truth(operand, values))
            return result
    raise AssertionError(node)
