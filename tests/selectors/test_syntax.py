"""Which texts are selectors (section 3.8.1.1)."""

import pytest

from jmsbridge.selectors import SelectorError, compile_selector
from jmsbridge.selectors import tree as t
from jmsbridge.testing.marks import pitfall, rule

A, B, C = t.Identifier("a"), t.Identifier("b"), t.Identifier("c")
MINUS_C = t.Signed(True, C)
RESERVED = [
    "NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE", "null", "True", "nOT", "and",
]  # fmt: skip
FORBIDDEN = [
    "JMSDestination", "JMSExpiration", "JMSReplyTo", "JMSRedelivered", "JMSDeliveryTime", "JMS", "JMSFoo",
    "JMSmessageID",
]  # fmt: skip


def constant(text: str) -> object:
    comparison = compile_selector(f"a = {text}").tree
    assert isinstance(comparison, t.Comparison)
    assert isinstance(comparison.right, t.Literal)
    return comparison.right.value


@rule("SE-4")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("''", ""),
        ("'it''s'", "it's"),
        ("''''", "'"),
        ("'AND \"x\" -- /* % */'", 'AND "x" -- /* % */'),
        ("'żółć 😀\n'", "żółć 😀\n"),
    ],
)
def test_strings_take_single_quotes_and_any_character(text: str, value: str) -> None:
    assert constant(text) == value


@rule("SE-4")
@pytest.mark.parametrize(("text", "at"), [('a = "x"', 4), ("a = 'x", 4), ("a = 'it''s", 4), ("a = 'it's'", 8)])
def test_other_quotes_and_open_ends_are_errors(text: str, at: int) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_selector(text)
    assert caught.value.position == at


@rule("SE-7")
@pytest.mark.parametrize(
    "name", ["a", "_", "$", "$a_1", "été", "名前", "€uro", "NOTE", "Orbit", "islike", "ıs", "a" * 9000]
)
def test_identifiers_are_those_of_java(name: str) -> None:
    selector = compile_selector(f"{name} = 1")
    assert selector.identifiers == {name}
    assert selector.matches({name: 1}.get)


@rule("SE-7")
def test_identifiers_are_case_sensitive() -> None:
    assert not compile_selector("Color = 'red'").matches({"color": "red"}.get)


@rule("SE-7")
@pytest.mark.parametrize(
    "name", ["1x", "%x", "a.b", "a-b", "#a", "a\u00a0b", "\u0301a", "a\x01b", "²", "a²", "a@b", "[a]"]
)
def test_other_characters_are_no_identifiers(name: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(f"{name} LIKE 'x'")


@rule("SE-7", "SE-14")
@pytest.mark.parametrize("word", RESERVED)
def test_reserved_words_are_no_identifiers_in_any_case(word: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(f"{word} IS NULL")
    with pytest.raises(SelectorError):
        compile_selector(f"{word} LIKE 'x'")


@rule("SE-7")
def test_keywords_are_known_in_any_case() -> None:
    text = "Not a bEtween 1 aNd 2 oR b iN ('x') And c Is noT Null oR a liKe 'x' escapE '!' or b = tRue"
    assert compile_selector(text).tree == compile_selector(text.upper().replace("A ", "a ").replace("B ", "b ")
        .replace("C ", "c ").replace("'X'", "'x'")).tree  # fmt: skip


@rule("SE-8")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_headers_other_than_the_six_are_errors(name: str) -> None:
    with pytest.raises(SelectorError, match="header") as caught:
        compile_selector(f"a = 1 OR {name} IS NULL")
    assert (caught.value.position, caught.value.piece) == (9, name)


@rule("SE-8")
@pytest.mark.parametrize("name", ["JMSXGroupID", "JMSXUnheardOf", "JMS_acme_x", "JMSX", "jmsDestination"])
def test_provider_and_extension_names_are_properties(name: str) -> None:
    assert compile_selector(f"{name} = 1").matches({name: 1}.get)


@rule("SE-9")
@pytest.mark.parametrize("blank", [" ", "\t", "\f", "\n", "\r\n", " \n\t "])
def test_white_space_separates(blank: str) -> None:
    assert compile_selector(f"{blank}a{blank}={blank}1{blank}AND b{blank}").tree == compile_selector("a=1 AND b").tree


@rule("SE-9")
@pytest.mark.parametrize("text", ["a = 1 /* b */", "a = 1 // b", "a = 1 # b", "a = 1 -- b c", "a = 1\u2028", "a\v= 1"])
def test_comments_and_other_blanks_are_not_supported(text: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(text)


@rule("SE-9")
def test_two_signs_begin_no_comment() -> None:
    assert compile_selector("a = 1 -- b").matches({"a": 3, "b": 2}.get)


@rule("SE-10")
@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("NOT a AND b", t.And((t.Not(A), B))),
        ("a OR b AND c", t.Or((A, t.And((B, C))))),
        ("(a OR b) AND c", t.And((t.Or((A, B)), C))),
        ("NOT a = b", t.Not(t.Comparison("=", A, B))),
        ("NOT NOT a", t.Not(t.Not(A))),
        ("a = b + c", t.Comparison("=", A, t.Arithmetic(("+",), (B, C)))),
        ("a - b - c > 0", t.Comparison(">", t.Arithmetic(("-", "-"), (A, B, C)), t.Literal(0))),
        ("a - (b - c) > 0", t.Comparison(">", t.Arithmetic(("-",), (A, t.Arithmetic(("-",), (B, C)))), t.Literal(0))),
        ("a+b*-c<-1", t.Comparison("<", t.Arithmetic(("+",), (A, t.Arithmetic(("*",), (B, MINUS_C)))), t.Literal(-1))),
        ("a BETWEEN b AND c AND c", t.And((t.Between(A, B, C), C))),
        ("a NOT BETWEEN 1 AND 2 OR b", t.Or((t.Between(A, t.Literal(1), t.Literal(2), True), B))),
        ("a NOT IN ('x','y')", t.In(A, ("x", "y"), True)),
        ("a LIKE 'x' ESCAPE '\\'", t.Like(A, "x", "\\")),
        ("a IS NOT NULL", t.IsNull(A, True)),
        ("a-1=0", t.Comparison("=", t.Arithmetic(("-",), (A, t.Literal(1))), t.Literal(0))),
    ],
)  # fmt: skip
def test_precedence_and_association(text: str, tree: t.Node) -> None:
    assert compile_selector(text).tree == tree


@rule("SE-2")
@pitfall(39)
@pytest.mark.parametrize(
    "junk", ["b", "1", "'x'", ")", "= 2", "NOT", "a = 1", ",", ";", "IS NULL", "AND", "OR", "(", "(b)"]
)
def test_text_after_a_selector_is_an_error(junk: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(f"a = 1 {junk}")


@rule("SE-13")
@pitfall(39)
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_only_numbers_have_an_order(operator: str) -> None:
    for left, right in [("a", "'x'"), ("'x'", "TRUE"), ("TRUE", "0"), ("FALSE", "a"), ("(a = 1)", "b"), ("1", "'1'")]:
        with pytest.raises(SelectorError, match="must be a number"):
            compile_selector(f"{left} {operator} {right}")


@rule("SE-14", "SE-2")
@pitfall(39)
@pytest.mark.parametrize(
    "text",
    [
        "a BETWEEN 'a' AND 'b'", "a NOT BETWEEN TRUE AND 1", "'x' BETWEEN 1 AND 2", "a BETWEEN 1", "a BETWEEN 1 AND",
        "a IN (1,2)", "a NOT IN (1,2,3)", "a IN ()", "a IN 'x'", "a IN ('x',)", "a IN (b)",
        "a IN ('x' 'y')", "a IN (TRUE)",
        "a LIKE 7", "a LIKE b", "a LIKE 'x' ESCAPE 'ab'", "a LIKE 'x' ESCAPE ''", "a LIKE 'x' ESCAPE 7",
        "'x' LIKE 'x'", "1 IN ('x')", "a + 1 IS NULL", "(a) IS NULL", "5 IS NULL", "NULL = 0", "a = NULL", "NULL",
        "=X 'y'", "a == 1", "a != 1", "a < > 1", "a => 1", "a = = 1", "a = b = c", "()", "a +", "AND a", "a OR",
        "NOT", "(a", "a)", "a = (1", "a IS 1", "a NOT NULL", "a NOT = 1",
    ],
)  # fmt: skip
def test_malformed_selectors_are_errors(text: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(text)


@rule("SE-14", "SE-15")
@pytest.mark.parametrize(
    "text",
    [
        "TRUE = 0", "FALSE = 0", "0 <> TRUE", "'x' = 1", "TRUE <> 'TRUE'", "(a > 1) = 1", "a + 1 = 'x'", "-a = TRUE",
        "a + 'x' = b", "a * TRUE = 1", "-'x' = a", "+TRUE = a", "(a AND b) + 1 = 2",
        "5", "'x'", "a + 1", "-a", "NOT 5", "NOT 'x'", "NOT -a", "a AND 5", "'x' OR a", "a AND b + 1", "TRUE AND (7)",
    ],
)  # fmt: skip
def test_operands_visibly_of_the_wrong_type_are_errors(text: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(text)


@rule("SE-2")
@pytest.mark.parametrize(
    ("text", "position", "piece"),
    [
        ("", 0, ""),
        ("a = ", 3, ""),
        ("a = 1 junk", 6, "junk"),
        ("a > 1 AND b > 'x'", 14, "'x'"),
        ("b OR (a + 1)", 5, "(a + 1)"),
        ("a = 1 AND\n  b ~ 2", 14, "~"),
        ("a LIKE 'x' ESCAPE 'no'", 18, "'no'"),
    ],
)
def test_errors_name_position_and_text(text: str, position: int, piece: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_selector(text)
    assert (caught.value.position, caught.value.piece) == (position, piece)
    assert f"at position {position}" in str(caught.value)
