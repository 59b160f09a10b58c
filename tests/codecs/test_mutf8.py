"""Modified UTF-8, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.codecs import mutf8
from jmsbridge.testing.marks import rule

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
KNOWN = {
    "": b"",
    "a": b"a",
    "\0": b"\xc0\x80",
    "é": b"\xc3\xa9",
    "€": b"\xe2\x82\xac",
    "😀": b"\xed\xa0\xbd\xed\xb8\x80",
    "\ud800": b"\xed\xa0\x80",
    "x\0é😀\udc00": b"x\xc0\x80\xc3\xa9\xed\xa0\xbd\xed\xb8\x80\xed\xb0\x80",
}


@pytest.mark.parametrize("text", KNOWN)
@rule("BO-15")
def test_known_bytes(text: str) -> None:
    assert mutf8.encode(text) == KNOWN[text]
    assert mutf8.decode(KNOWN[text]) == text


@pytest.mark.parametrize(
    "data", [b"\x80", b"\xc3", b"\xc3a", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xff", b"\xe2a\xac", b"\xc3\xa9\xbf"]
)
def test_malformed_bytes(data: bytes) -> None:
    with pytest.raises(mutf8.ModifiedUtf8Error):
        mutf8.decode(data)


def test_overlong_forms_read_as_java_reads_them() -> None:
    assert mutf8.decode(b"\xc1\x81\xe0\x81\x81\x00") == "AA\0"


@rule("BO-15")
def test_the_length_of_write_utf_is_bounded() -> None:
    longest = "x" * mutf8.MAX_SHORT
    assert mutf8.read_utf(b"??" + mutf8.write_utf(longest), 2) == (longest, 2 + 2 + mutf8.MAX_SHORT)
    for text in (longest + "x", "\0" * 40_000, "é" * 32_768):
        with pytest.raises(mutf8.ModifiedUtf8Error, match="65535"):
            mutf8.write_utf(text)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\5abc", b"\xff\xff"])
def test_cut_off_texts(data: bytes) -> None:
    with pytest.raises(mutf8.ModifiedUtf8Error, match="truncated"):
        mutf8.read_utf(data)


@given(ANY_TEXT)
def test_every_text_survives(text: str) -> None:
    joined = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    data = mutf8.encode(text)
    assert mutf8.decode(bytearray(data)) == joined
    assert 0 not in data
    assert mutf8.read_utf(memoryview(mutf8.write_utf(text))) == (joined, len(data) + 2)


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        text = mutf8.decode(data)
    except mutf8.ModifiedUtf8Error:
        return
    assert mutf8.decode(mutf8.encode(text)) == text
