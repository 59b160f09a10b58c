"""After which reads the socket waits for more messages to come together."""

from typing import Any

import pytest

from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.protocol.parsing import Parser

MESSAGE = b"MESSAGE\nsubscription:jb1\nmessage-id:1\n\n\0"
RECEIPT = b"RECEIPT\nreceipt-id:7\n\n\0"


class _Stream:
    def __init__(self) -> None:
        self.gathered: list[tuple[int, int]] = []

    def rest(self, came: int, owed: int) -> None:
        pass

    def gather(self, came: int, window: int) -> None:
        self.gathered.append((came, window))


@pytest.mark.parametrize(
    ("data", "open_receipt", "gathered"),
    [(MESSAGE * 5, None, [(5, 250)]), (MESSAGE * 5 + RECEIPT, None, []), (MESSAGE * 5, "8", [])],
    ids=["messages", "an answer is the last", "a receipt is open"],
)
def test_only_messages_wait_for_more(data: bytes, open_receipt: str | None, gathered: list[tuple[int, int]]) -> None:
    socket: Any = object.__new__(StompSocket)
    socket._parser, socket._stream = Parser(), _Stream()
    socket._answers = {} if open_receipt is None else {open_receipt: (0, lambda _: None)}
    socket.subscriptions, socket.windows = {"jb1": lambda _: None}, {"jb1": 250}
    socket._parse(data)
    assert socket._stream.gathered == gathered
