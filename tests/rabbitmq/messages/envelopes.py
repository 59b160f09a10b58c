"""Envelopes of every kind for hypothesis, and a comparison that sees types."""

import math
from typing import Any

import msgspec
from hypothesis import strategies as st

from jmsbridge.codecs import javaserial
from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Float, Long, Short

HERE = Address("orders")
TEXT = st.text(st.characters(codec=None), max_size=12)
NAMES = st.one_of(
    st.from_regex(r"[A-Za-z_$][A-Za-z0-9_$]{0,8}", fullmatch=True),
    st.sampled_from(["CC", "BCC", "JMSXGroupID", "JMS_vendor", "größe"]),
).filter(lambda name: not name.startswith("JMS") or name[3:4] in ("X", "_"))
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-128, 127).map(Byte),
    st.integers(-(1 << 15), (1 << 15) - 1).map(Short),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1).map(Long),
    st.floats(width=32).map(Float),
    st.floats(),
    TEXT,
)
FIELDS = st.one_of(VALUES, st.binary(max_size=12), st.characters(max_codepoint=0xFFFF, codec=None).map(Char))
ADDRESSES = st.builds(Address, st.sampled_from(["answers", "a.b", "ü"]), st.booleans(), st.booleans())
BODIES: dict[BodyKind, st.SearchStrategy[Any]] = {
    BodyKind.NONE: st.none(),
    BodyKind.TEXT: st.one_of(st.none(), TEXT, st.just("x" * 3000)),
    BodyKind.BYTES: st.one_of(
        st.binary(max_size=40),
        st.just(b"\xac\xed\0\5w\1\0"),
        st.just(b"\xac\xed\0\5\x77\x30\0\x2ecom.rabbitmq.jms.client."),
    ),
    BodyKind.MAP: st.dictionaries(TEXT.filter(bool), FIELDS, max_size=4),
    BodyKind.STREAM: st.lists(FIELDS, max_size=4),
    BodyKind.OBJECT: st.one_of(st.none(), VALUES.map(javaserial.dumps)),
}
MOMENTS = st.one_of(st.just(0), st.integers(1, 1 << 50))


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    """Any message that the facade may hand down."""
    kind = draw(st.sampled_from(BodyKind))
    return Envelope(
        HERE,
        kind,
        draw(BODIES[kind]),
        draw(st.dictionaries(NAMES, VALUES, max_size=5)),
        draw(st.one_of(st.none(), TEXT.map("ID:{}".format))),
        draw(MOMENTS),
        draw(st.booleans()),
        draw(st.integers(0, 9)),
        draw(MOMENTS),
        draw(MOMENTS),
        draw(st.one_of(st.none(), TEXT, st.binary(max_size=12), st.just("c" * 300), st.just(b"\xff" * 300))),
        draw(st.one_of(st.none(), ADDRESSES)),
        draw(st.one_of(st.none(), TEXT, st.sampled_from(["TextMessage", "t" * 300]))),
    )


def typed(value: Any) -> Any:
    """The value with the type of everything in it, because 1 == 1.0 == True == Byte(1); NaN equals itself."""
    if isinstance(value, msgspec.Struct):
        return type(value), [typed(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, list):
        return [typed(item) for item in value]
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    if isinstance(value, float):
        return type(value), "nan" if math.isnan(value) else (float(value), math.copysign(1, value))
    return type(value), value
