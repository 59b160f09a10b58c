"""JSON with limits: the depth of hostile texts, and errors that do not quote values."""

import enum
import random
import time
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pytest

from jmsbridge.app.json_text import BadJson, JsonText, _is_deeper


def depth_of(text: str) -> int:
    depth = deepest = 0
    for each in text:
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(each, 0)
        deepest = max(deepest, depth)
    return deepest


def nested(choose: random.Random, depth: int) -> str:
    if depth == 0:
        return "[]"
    inner = [nested(choose, choose.randrange(depth)) for _ in range(choose.randrange(3))]
    inner.insert(choose.randrange(len(inner) + 1), nested(choose, depth - 1))
    return f"[{','.join(inner)}]" if choose.random() < 0.5 else f'{{"a":[{",".join(inner)}]}}'


@pytest.mark.parametrize("seed", range(50))
def test_depth_is_counted(seed: int) -> None:
    text = nested(random.Random(seed), 6)
    depth = depth_of(text)
    assert not _is_deeper(text.encode(), depth)
    assert _is_deeper(text.encode(), depth - 1)
    assert [limit for limit in range(depth + 3) if _is_deeper(text.encode(), limit)] == list(range(depth))


def test_depth_is_counted_over_long_texts() -> None:
    """Longer than what is counted at a time."""
    chain = "[" * 99 + "]" * 99
    text = f"[{','.join([chain] * 1000)}]".encode()
    assert not _is_deeper(text, 100)
    assert _is_deeper(text, 99)
    assert _is_deeper(text.replace(b"[]", b"[[]]", 1), 100)


def test_a_bomb_of_depth_and_size_takes_little_time() -> None:
    """It took 15 s: one innermost pair of brackets after the other was removed, from 16 MB."""
    began = time.process_time()
    with pytest.raises(BadJson, match="nested deeper"):
        JsonText(16_000_000, 100).decode(b"[" * 8_000_000 + b"]" * 8_000_000, list)
    assert time.process_time() - began < 4


class Colour(enum.Enum):
    RED = "red"


class Car(msgspec.Struct, tag="car"):
    colour: Colour = Colour.RED
    size: Literal["big"] = "big"


class Van(msgspec.Struct, tag="van"):
    pass


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ('{"type":"car","colour":"secret"}', Car, "Invalid enum value - at `$.colour`"),
        ('{"type":"car","colour":"secret - at `$.secret`"}', Car, "Invalid enum value - at `$.colour`"),
        ('{"type":"car","size":"secret\\n"}', Car, "Invalid enum value - at `$.size`"),
        ('{"type":"secret"}', Car | Van, "Invalid value - at `$.type`"),
        ('{"secret":1}', dict[Colour, int], "Invalid enum value - at `key` in `$`"),
        ('"secret"', Colour, "Invalid enum value"),
    ],
)
def test_errors_do_not_quote_values_that_are_not_among_those_allowed(text: str, kind: Any, told: str) -> None:
    with pytest.raises(BadJson) as caught:
        JsonText(1000, 100).decode(text.encode(), kind)
    assert str(caught.value) == told


class Priced(msgspec.Struct):
    currency: str

    def __post_init__(self) -> None:
        {"EUR": 1}[self.currency]


def test_whatever_a_check_of_the_type_raises_says_that_the_text_does_not_fit() -> None:
    with pytest.raises(BadJson, match="a check of the type raised KeyError") as caught:
        JsonText(1000, 10).decode(b'{"currency":"secret"}', Priced)
    assert "secret" not in str(caught.value)


@dataclass
class Card:
    number: str

    def __post_init__(self) -> None:
        if not self.number.isdigit():
            raise ValueError(f"bad card {self.number}")


def test_the_text_of_a_check_is_not_shown() -> None:
    with pytest.raises(BadJson, match=r"^a check of the type refuses it$"):
        JsonText(1000, 10).decode(b'{"number": "secret"}', Card)
