"""What is written for a broker without the client library: messages and entries."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jmsbridge_pulsar.messages.encoding import Outgoing
from jmsbridge_pulsar.sending.entries import encode_entry, encode_message
from tests.pulsar.server.wire import Command, Fields, Kind


def _crc32c(data: bytes) -> int:
    """Bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
MESSAGES = st.builds(
    Outgoing,
    st.one_of(st.none(), st.binary(max_size=300)),
    st.dictionaries(st.one_of(TEXTS, st.just("number_jsmtype"), st.just("JMSPulsarMessageType")), TEXTS, max_size=6),
    st.one_of(st.none(), TEXTS),
    st.integers(0, 1 << 62),
    st.just(0),
    st.just(0),
)


def _parts(payload: bytes) -> list[tuple[Fields, bytes]]:
    """The messages of an entry: metadata and body of each."""
    found = []
    while payload:
        size = int.from_bytes(payload[:4])
        metadata = Fields(payload[4 : 4 + size])
        end = 4 + size + metadata.number(3)
        found.append((metadata, payload[4 + size : end]))
        payload = payload[end:]
    return found


@given(messages=st.lists(MESSAGES, min_size=1, max_size=4), deliver_at=st.integers(0, 1 << 62))
@settings(max_examples=200)
def test_an_entry_has_all_of_its_messages(messages: list[Outgoing], deliver_at: int) -> None:
    encoded = [encode_message(message) for message in messages]
    frame = b"".join(encode_entry(3, b"one-2", 300, 1_770_000_000_123, deliver_at, messages[0].key, encoded))
    sent, metadata = Command(frame), Command(frame).metadata
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    assert (sent.kind, [sent.fields.number(each) for each in (1, 2, 3)]) == (Kind.SEND, [3, 300, len(messages)])
    assert (metadata.text(1), [metadata.number(each) for each in (2, 3, 11, 19)]) == (
        "one-2",
        [300, 1_770_000_000_123, len(messages), deliver_at],
    )
    assert metadata.text(6) == (messages[0].key or "")
    assert sent.payload[:2] == b"\x0e\x01"
    assert int.from_bytes(sent.payload[2:6]) == _crc32c(sent.payload[6:])
    found = _parts(sent.payload[10 + int.from_bytes(sent.payload[6:10]) :])
    assert len(found) == len(messages)
    for (about, body), message in zip(found, messages, strict=True):
        assert {each.text(1): each.text(2) for each in about.all(1)} == message.properties
        assert (about.text(2) if 2 in about else None) == message.key
        assert (about.number(5), body) == (message.event_time, message.body or b"")
        assert (about.number(9) == 1) == (message.body is None)
