"""What a message loses between jmsbridge over STOMP and Java programs, by product; nothing between jmsbridge itself."""

from typing import Final

__all__ = ["LOSSES"]

_BOTH: Final = (
    "properties from Java arrive as texts, and Java gets those of jmsbridge as texts, which its getters convert",
    "Java gets a map or stream as a text with JSON, an object as bytes, a plain message as an empty text",
    "Java does not get properties whose names STOMP or the broker uses for headers, or begin with JMS",
    "Java does not get properties that are null, longer than 2000 characters, or contain NUL",
    "Java sees the headers jb_message and jb_types as properties",
    "a correlation id of bytes does not reach Java",
    "a text with a surrogate without its other half is bytes to Java",
)
LOSSES: Final[dict[str, tuple[str, ...]]] = {
    "ActiveMQ Classic": (
        *_BOTH,
        "maps, streams, objects and plain messages from Java, and texts that are null, arrive as empty texts",
        "JMSXGroupID and JMSXGroupSeq of Java do not arrive",
        "characters beyond the basic plane in properties arrive in Java as two U+FFFD",
        "a text of Java that contains NUL ends the connection",
        "before 5.18.6 and 6.1.4, a character beyond the basic plane in a header is not what Java wrote",
    ),
    "Artemis": (
        *_BOTH,
        "plain messages, objects and null texts from Java arrive as empty texts, maps as unreadable texts",
        "streams from Java are never delivered",
        "empty bytes from Java arrive as four zero bytes",
        "a text with NUL is bytes to Java",
        "Java gets no JMSMessageID, the time at the broker as JMSTimestamp, and 0 as JMSXGroupSeq",
        "Java sees the headers destination, destination-type and receipt as properties",
        "the JMSMessageID of Java does not arrive",
    ),
}
"""For each product: one sentence each."""
