"""Single bits of a file are flipped while it is closed."""

import random
from pathlib import Path

from jmsbridge.spi import BackendError
from tests.embedded.file.worker import connect, message, receive, send

_COUNT = 300
_TRIES = 60


def _received(path: Path) -> list[str] | None:
    """The bodies; None where the damage was detected."""
    try:
        link = connect(path)
    except BackendError:
        return None
    try:
        return [arrival.envelope.body for arrival in receive(link)]
    except (BackendError, AssertionError):
        return None  # the link was lost, and with it the credit
    finally:
        link.close()


def _places(data: bytes) -> list[int]:
    """Positions inside the index of waiting messages: the cells of index leaf pages with many cells."""
    found: list[int] = []
    for page in range(4096, len(data), 4096):
        if data[page] == 0x0A and int.from_bytes(data[page + 3 : page + 5], "big") > 50:
            found += range(page + int.from_bytes(data[page + 5 : page + 7], "big"), page + 4096)
    return found


def test_a_flipped_bit_neither_hides_nor_changes_a_message(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), *(message(str(number)) for number in range(_COUNT)))
    link.close()
    whole, chance = path.read_bytes(), random.Random(7)
    noticed = 0
    places = _places(whole)
    for number in range(_TRIES):
        byte = chance.choice(places) if number % 2 else chance.randrange(len(whole))
        at = byte * 8 + chance.randrange(8)
        path.write_bytes(whole[: at // 8] + bytes([whole[at // 8] ^ 1 << at % 8]) + whole[at // 8 + 1 :])
        found = _received(path)
        noticed += found is None
        assert found is None or found == [str(number) for number in range(_COUNT)], f"bit {at}"
    assert noticed > _TRIES // 4
