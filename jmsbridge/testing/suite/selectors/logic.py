"""How a selector is evaluated: precedence, types, null, and Java's arithmetic (section 3.8.1)."""

import itertools

from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.selectors.selecting import Selection, on_queue_and_topic
from jmsbridge.values import Byte, Float, Long, Short


@rule("SE-10")
@on_queue_and_topic
def test_sel_precedence(harness: Harness, kind: str) -> None:
    Selection(harness, kind).check(
        {"a": 1, "b": 2, "c": 3},
        {
            "NOT a = 2 AND b = 2": True,
            "NOT a = 1 AND b = 5": False,
            "NOT (a = 1 AND b = 5)": True,
            "a = 1 OR b = 9 AND c = 9": True,
            "(a = 1 OR b = 9) AND c = 9": False,
            "NOT a = 9 OR b = 2 AND c = 9": True,
            "1 + 2 * 3 = 7": True,
            "(1 + 2) * 3 = 9": True,
            "10 - 4 - 3 = 3": True,
            "12 / 3 / 2 = 2": True,
            "-a + b = 1": True,
            "a + b BETWEEN 3 AND 3 AND c = 3": True,
            "NOT NOT a = 1": True,
            "not a = 2 and b = 2": True,
        },
    )


@rule("SE-11")
@on_queue_and_topic
def test_sel_types_are_those_that_were_set(harness: Harness, kind: str) -> None:
    """No getter conversion: the string '2' is no number and 'true' no boolean."""
    Selection(harness, kind).check(
        {"s": "2", "i": 2, "t": "true", "flag": True},
        {
            "s > 1": False,
            "s = 2": False,
            "s = '2'": True,
            "s BETWEEN 1 AND 3": False,
            "i = '2'": False,
            "i = 2": True,
            "t = TRUE": False,
            "t = 'true'": True,
            "flag = 'true'": False,
            "flag = TRUE": True,
        },
    )


@rule("SE-12")
@on_queue_and_topic
def test_sel_unlike_types_make_the_operation_false(harness: Harness, kind: str) -> None:
    """Numbers of any two types compare; anything else unlike is false, for <> too, and NOT turns that round."""
    Selection(harness, kind).check(
        {"i": 1, "s": "1", "flag": True, "d": 1.0, "n": Long(1), "b": Byte(1)},
        {
            "i = 1.0": True,
            "n = i": True,
            "d = n": True,
            "b = d": True,
            "s <> 1": False,
            "i <> 'x'": False,
            "flag <> i": False,
            "flag = i": False,
            "s = i": False,
            "s <> flag": False,
            "NOT (s <> 1)": True,
            "NOT (i = '1')": True,
            "NOT (i IN ('1'))": True,
            "flag <> FALSE": True,
        },
    )


@rule("SE-12")
@on_queue_and_topic
def test_sel_numbers_of_all_types_compare(harness: Harness, kind: str) -> None:
    """On both sides of each comparison."""
    numbers = {"y": Byte(1), "h": Short(1), "i": 1, "n": Long(1), "f": Float(1.0), "d": 1.0}
    pairs = list(itertools.permutations(numbers, 2))
    Selection(harness, kind).check(
        numbers,
        {
            " AND ".join(f"{one} = {other}" for one, other in pairs): True,
            " AND ".join(f"{one} >= {other}" for one, other in pairs): True,
            " AND ".join(f"{one} BETWEEN {other} AND {other}" for one, other in pairs): True,
            " AND ".join(f"1 = {name}" for name in numbers): True,
            " AND ".join(f"1.5 > {name}" for name in numbers): True,
            " OR ".join(f"{one} <> {other}" for one, other in pairs): False,
            " OR ".join(f"{one} < {other}" for one, other in pairs): False,
        },
    )


@rule("SE-13")
@on_queue_and_topic
def test_sel_ordering_of_strings_matches_nothing(harness: Harness, kind: str) -> None:
    """Where only the message shows that both sides are strings or booleans, an ordering comparison is no match."""
    Selection(harness, kind).check(
        {"s": "b", "t": "a", "flag": True, "off": False},
        {
            "s > t": False,
            "s >= t": False,
            "t < s": False,
            "t <= s": False,
            "flag > off": False,
            "s <> t": True,
            "s = 'b'": True,
            "flag <> off": True,
        },
    )


@rule("SE-16")
@on_queue_and_topic
def test_sel_boolean_identifier_alone(harness: Harness, kind: str) -> None:
    Selection(harness, kind).check(
        {"flag": True, "off": False, "s": "true", "i": 1},
        {
            "flag": True,
            "(flag)": True,
            "off": False,
            "NOT off": True,
            "TRUE": True,
            "FALSE": False,
            "TRUE OR (FALSE AND FALSE)": True,
            "flag AND i = 1": True,
            "absent": False,
            "NOT absent": False,
            "s": False,
            "i": False,
            "NOT s": False,
            "NOT i": False,
        },
    )


@rule("SE-17")
@on_queue_and_topic
def test_sel_between_includes_both_ends(harness: Harness, kind: str) -> None:
    """A string or an absent property matches neither BETWEEN nor NOT BETWEEN."""
    Selection(harness, kind).check(
        {"i": 3, "s": "3", "d": 3.5},
        {
            "i BETWEEN 3 AND 5": True,
            "i BETWEEN 1 AND 3": True,
            "i BETWEEN 4 AND 5": False,
            "i NOT BETWEEN 4 AND 5": True,
            "i NOT BETWEEN 3 AND 5": False,
            "i BETWEEN 5 AND 1": False,
            "d BETWEEN i AND 4": True,
            "s BETWEEN 1 AND 5": False,
            "s NOT BETWEEN 4 AND 5": False,
            "absent BETWEEN 1 AND 5": False,
            "absent NOT BETWEEN 1 AND 5": False,
        },
    )


@rule("SE-18")
@on_queue_and_topic
def test_sel_in_and_like_on_null_and_on_other_types(harness: Harness, kind: str) -> None:
    """On null and on anything but a string neither polarity matches."""
    Selection(harness, kind).check(
        {"s": "a", "i": 1, "flag": True},
        {
            "s IN ('a', 'b')": True,
            "s IN ('b')": False,
            "s NOT IN ('b', 'c')": True,
            "s NOT IN ('a')": False,
            "i IN ('1')": False,
            "i NOT IN ('2')": False,
            "flag NOT IN ('a')": False,
            "absent IN ('a')": False,
            "absent NOT IN ('a')": False,
            "NOT (absent IN ('a'))": False,
            "i LIKE '1'": False,
            "i NOT LIKE 'x'": False,
            "absent LIKE '%'": False,
            "absent NOT LIKE 'x'": False,
        },
    )


@rule("SE-12", "SE-18")
@on_queue_and_topic
def test_sel_not_of_what_other_types_make_false(harness: Harness, kind: str) -> None:
    """IN, LIKE and BETWEEN are false on another type, so that NOT before them matches; on null they are unknown."""
    Selection(harness, kind).check(
        {"s": "a", "i": 1, "flag": True},
        {
            "NOT (i IN ('1'))": True,
            "NOT (i NOT IN ('1'))": True,
            "NOT (flag LIKE 't%')": True,
            "NOT (i NOT LIKE '1')": True,
            "NOT (s BETWEEN 1 AND 5)": True,
            "NOT (s NOT BETWEEN 1 AND 5)": True,
            "NOT (flag BETWEEN 0 AND 1)": True,
            "NOT (s NOT IN ('a'))": True,
            "NOT (s IN ('a'))": False,
            "NOT (i BETWEEN 1 AND 5)": False,
            "NOT (absent LIKE 'a%')": False,
            "NOT (absent NOT BETWEEN 1 AND 5)": False,
        },
    )


@rule("SE-19")
@on_queue_and_topic
def test_sel_like_patterns(harness: Harness, kind: str) -> None:
    Selection(harness, kind).check(
        {"a": "a.c", "n": "a\nb", "u": "50%_off", "e": "", "c": "Ab"},
        {
            "a LIKE 'a.c'": True,
            "a LIKE 'a_c'": True,
            "a LIKE '.*'": False,
            "a LIKE 'a%c%'": True,
            "a NOT LIKE 'b%'": True,
            "c LIKE 'A.'": False,
            "c LIKE 'ab'": False,
            "c LIKE 'Ab%'": True,
            "n LIKE 'a_b'": True,
            "n LIKE 'a%b'": True,
            "e LIKE '%'": True,
            "e LIKE '_'": False,
            "u LIKE '50\\%\\_off' ESCAPE '\\'": True,
            "c LIKE 'A\\_' ESCAPE '\\'": False,
            "u LIKE '50x%x_off' ESCAPE 'x'": True,
            "u LIKE '50x%xxoff' ESCAPE 'x'": False,
        },
    )


@rule("SE-20")
@on_queue_and_topic
def test_sel_three_valued_logic(harness: Harness, kind: str) -> None:
    """An absent property makes a comparison unknown, and unknown does not match."""
    Selection(harness, kind).check(
        {"i": 1},
        {
            "absent = 1": False,
            "absent <> 1": False,
            "NOT (absent = 1)": False,
            "absent + 1 = 1": False,
            "NOT (absent + 1 = 1)": False,
            "absent = 1 OR i = 1": True,
            "absent = 1 AND i = 1": False,
            "NOT (absent = 1 AND i = 2)": True,
            "NOT (absent = 1 OR i = 2)": False,
            "NOT (absent = 1 OR i = 1)": False,
            "absent = missing": False,
            "NOT (absent = missing)": False,
            "absent IS NULL": True,
            "absent IS NOT NULL": False,
            "i IS NOT NULL": True,
            "NOT (absent IS NULL)": False,
        },
    )


@rule("SE-21")
@on_queue_and_topic
def test_sel_java_arithmetic(harness: Harness, kind: str) -> None:
    """Int and long wrap, 0.1f is not 0.1, bytes add as ints."""
    Selection(harness, kind).check(
        {"i": 7, "m": 2**31 - 1, "n": Long(2**63 - 1), "f": Float(0.1), "b": Byte(100), "h": Short(32000)},
        {
            "i / 2.0 = 3.5": True,
            "m + 1 = -2147483648": True,
            "m + 1 > 0": False,
            "m + 1L = 2147483648": True,
            "n + 1 < 0": True,
            "f = 0.1": False,
            "f > 0.1": True,
            "b + b = 200": True,
            "h * h = 1024000000": True,
            "-b = -100": True,
        },
    )


@rule("SE-21")
@on_queue_and_topic
def test_sel_integer_division(harness: Harness, kind: str) -> None:
    """It truncates towards zero; by zero it is unknown."""
    Selection(harness, kind).check(
        {"i": 7},
        {
            "i / 2 = 3 AND -i / 2 = -3": True,
            "i / 0 = 0": False,
        },
    )


@rule("SE-12", "SE-21")
@on_queue_and_topic
def test_sel_arithmetic_with_other_types_is_unknown(harness: Harness, kind: str) -> None:
    """A message whose property is no number is not matched, and its send succeeds."""
    Selection(harness, kind).check(
        {"s": "1", "flag": True, "i": 1},
        {
            "s - 1 = 0": False,
            "NOT (s - 1 = 0)": False,
            "s + 1 <> 2": False,
            "-flag = 1": False,
            "flag * i BETWEEN 0 AND 2": False,
            "absent - i = 1": False,
            "i - 1 = 0": True,
        },
    )


@rule("SE-22")
@on_queue_and_topic
def test_sel_and_or_follow_the_truth_table_in_both_orders(harness: Harness, kind: str) -> None:
    """Short-circuit evaluation does not change a result: each pair gives the same in both orders."""
    Selection(harness, kind).check(
        {"i": 1},
        {
            "i = 1 OR absent = 1": True,
            "absent = 1 OR i = 1": True,
            "i = 1 AND absent = 1": False,
            "absent = 1 AND i = 1": False,
            "NOT (i = 2 AND absent = 1)": True,
            "NOT (absent = 1 AND i = 2)": True,
            "NOT (i = 2 OR absent = 1)": False,
            "NOT (absent = 1 OR i = 2)": False,
        },
    )


@pitfall(38)
@on_queue_and_topic
def test_sel_follows_java_not_python(harness: Harness, kind: str) -> None:
    """True is not 1, integers end, / of integers is an integer, LIKE is no regular expression, unknown is not false."""
    Selection(harness, kind).check(
        {"i": 7, "one": 1, "flag": True, "s": "2", "m": 2**31 - 1, "n": Long(-(2**63)), "t": "abc", "l": "a\nb"},
        {
            "one = TRUE": False,
            "flag = 1": False,
            "m + 1 > m": False,
            "n = -9223372036854775808L": True,
            "i = 07": True,
            "s > 1": False,
            "i <> 'x'": False,
            "i NOT IN ('x')": False,
            "i NOT LIKE 'x'": False,
            "NOT (absent = 1)": False,
            "t LIKE 'a.c'": False,
            "l LIKE '%b'": True,
            "JMSDeliveryMode = 2": False,
            "JMSDeliveryMode = 'PERSISTENT'": True,
        },
    )
