"""Values that the file cannot hold are refused to their sender, without effect on others."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from jmsbridge.spi import (
    Address,
    AddressRefused,
    BackendError,
    ConnectFailed,
    Interest,
    Link,
    SendRefused,
    TransactionRolledBack,
)
from tests.embedded.file.worker import FIRST, Answer, Heard, Inbox, connect, message, receive, send

_HALF = "half \ud800"


def _sent(link: Link, **changes: object) -> BackendError | None:
    answer = Answer()
    link.channel(False).send(msgspec.structs.replace(message("unfit"), **changes), answer)
    assert answer.done.wait(20.0)
    return answer.error


@pytest.mark.parametrize(
    "act",
    [
        lambda link: link.channel(False).subscribe(Interest(address=Address(_HALF)), Inbox()),
        lambda link: link.channel(False).subscribe(Interest(address=Address(_HALF, True)), Inbox()),
        lambda link: link.declare(Address(_HALF, temporary=True)),
        lambda link: link.unsubscribe(_HALF, None),
    ],
)
def test_half_a_surrogate_pair_in_a_name_is_refused(path: Path, act: Callable[[Link], object]) -> None:
    heard = Heard()
    link = connect(path, heard)
    with pytest.raises(BackendError, match="surrogate"):
        act(link)
    send(link.channel(False), message("fine"))
    assert heard.losses == []
    link.close()


def test_half_a_surrogate_pair_in_the_name_of_a_send_is_refused(path: Path) -> None:
    """In a transaction at once, not at its commit."""
    heard = Heard()
    link = connect(path, heard)
    assert isinstance(_sent(link, address=Address(_HALF)), AddressRefused)
    with pytest.raises(AddressRefused):
        link.channel(True).send(msgspec.structs.replace(message("unfit"), address=Address(_HALF)), None)
    assert heard.losses == []
    link.close()


def test_a_message_that_cannot_be_stored_is_refused_alone(path: Path) -> None:
    changes = {"duplicate_id": _HALF}
    heard = Heard()
    link, other = connect(path, heard), connect(path, heard)
    error = _sent(link, **changes)
    assert isinstance(error, SendRefused)
    assert "surrogate" in str(error)
    assert ".recover" not in str(error)
    channel, answer = link.channel(True), Answer()
    channel.send(message("with it"), None)
    channel.send(msgspec.structs.replace(message("unfit"), **changes), None)
    channel.commit(answer)
    with pytest.raises(TransactionRolledBack, match="surrogate"):
        answer.wait()
    send(other.channel(False), message("another's"))
    assert [arrival.envelope.body for arrival in receive(other, FIRST)] == ["another's"]
    assert heard.losses == []
    link.close()
    other.close()


def test_a_client_id_that_cannot_be_stored_is_refused(path: Path) -> None:
    link = connect(path)
    with pytest.raises(ConnectFailed, match="surrogate"):
        connect(path, client_id=_HALF)
    send(link.channel(False), message("fine"))
    link.close()
